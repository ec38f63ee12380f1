//! What a builder would build, and how much memory that takes, without building it.
//!
//! **Invariant:** what is built takes no more than these figures say, but for its stash and counts of doubled values.

use super::Builder;
use crate::error::Error;
use crate::sizing::{self, Request, Sizing};
use crate::snapshot::format::bytes_without_lists;
use crate::storage::Storage;
use crate::table::State;
use crate::table::placing::entry::Values;

/// What a [`Builder`] would build; returned by [`Builder::figures`].
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, Figures};
///
/// let builder = CuckooFilter::builder().capacity(1_000_000).false_positive_rate(0.01).any_layout();
/// let Figures { layout_name, bits_per_item, .. } = builder.figures(1_000_000)?;
/// assert_eq!(layout_name, "Fp12x5");
/// assert!(bits_per_item < 13.5);
/// # Ok::<(), coucal::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The [layout](crate::Layout).
    pub layout_name: &'static str,
    /// The number of items that it holds; if it grows, before it grows: 0 if no number was asked for.
    pub capacity: usize,
    /// The number of items that it holds at its maximum size. The capacity, if it does not grow.
    pub max_capacity: usize,
    /// The memory that it takes with the given number of items, in bytes: no more than that, without what the
    /// [stash](crate#what-finds-no-room) takes, which has few items or none, unless
    /// [`stashed_share`](Self::stashed_share) says otherwise. One that grows may take less: by up to a
    /// quarter, since splits double fewer entries than they may, and below 40 KB by more, since it takes memory in
    /// large steps there; and a maplet or an expiring filter that grows takes 16 to 32 bytes more for each value, or
    /// generation, of which they have doubled an entry.
    pub memory_bytes: usize,
    /// The same in bits, in proportion to these items. Infinite for no items.
    pub bits_per_item: f64,
    /// The bytes of a [snapshot](crate#snapshots) with these items, without stashed ones, of which each takes 16; and in
    /// a maplet or an expiring filter that grows without the counts of doubled values, of which each takes up to 24.
    pub snapshot_bytes: usize,
    /// The share of the slots that these items take, those that are stashed included.
    pub load_factor: f64,
    /// The [values per key](Builder::values_per_key), or [copies per item](Builder::copies_per_item), that it is built
    /// for; 1 if nothing is said.
    pub values_per_key: u32,
    /// The share of its items that is stashed when it holds its capacity and each key has so many values: an estimate.
    /// Each of them takes 15 to 30 bytes beside [`memory_bytes`](Self::memory_bytes).
    pub stashed_share: f64,
    /// The share of absent items that it reports as present with these items. Of a maplet: the mean number of
    /// candidates for an absent key.
    pub false_positive_rate: f64,
}

impl<L: Storage, S, T> Builder<L, S, T> {
    /// What the request comes to. `itself` is what the value takes that is built.
    pub(super) fn sizing<V: Values>(&self, itself: usize) -> Result<(Request, Sizing), Error> {
        let request = Request { only: L::ONLY.or(self.request.only), ..self.request };
        let of_memory = |sizing: Sizing| {
            itself as u64 + State::<L::Buckets<V>>::bytes_for(sizing, sizing.buckets)
        };
        let of_snapshot = |sizing: Sizing| snapshot_bytes(request, sizing.buckets);
        let budgets: [Budget<'_>; 2] =
            [(request.memory_bytes, &of_memory), (request.snapshot_bytes, &of_snapshot)];
        if budgets.iter().all(|(bytes, _)| bytes.is_none()) {
            return Ok((request, Sizing::new(request)?));
        }
        sizing_within(budgets, request)
    }

    pub(crate) fn figures_of<V: Values>(
        &self,
        items: usize,
        itself: usize,
    ) -> Result<Figures, Error> {
        let (request, sizing) = self.sizing::<V>(itself)?;
        let [capacity, max_capacity] =
            [request.items(), sizing.max_capacity].map(sizing::in_address_space);
        if items > max_capacity {
            return Err(if request.grows {
                Error::AboveMaxCapacity { wanted: items, max_capacity }
            } else {
                Error::AboveCapacity { wanted: items, capacity }
            });
        }
        let room = request.room_in(sizing.layout)?;
        let buckets = sizing.buckets_with(items as u64);
        let slots = buckets as f64 * sizing.layout.properties().slots as f64;
        let bytes = itself as u64 + State::<L::Buckets<V>>::bytes_for(sizing, buckets);
        Ok(Figures {
            layout_name: sizing.layout.name(),
            capacity,
            max_capacity,
            memory_bytes: sizing::in_address_space(bytes),
            snapshot_bytes: sizing::in_address_space(snapshot_bytes(request, buckets)),
            bits_per_item: bytes as f64 * 8.0 / items as f64,
            load_factor: items as f64 / slots,
            values_per_key: room.values_per_key,
            stashed_share: room.stashed,
            false_positive_rate: sizing.false_positive_rate_at(items as u64),
        })
    }
}

/// The bytes of a snapshot of a table with so many buckets, without its lists.
fn snapshot_bytes(request: Request, buckets: u64) -> u64 {
    bytes_without_lists(request.expires, sizing::in_address_space(buckets)) as u64
}

/// The most bytes of something, and how many of them a table takes that is as large as it can be.
type Budget<'a> = (Option<u64>, &'a dyn Fn(Sizing) -> u64);

/// With a budget, or two: as many items as there is room for within them.
fn sizing_within(budgets: [Budget<'_>; 2], request: Request) -> Result<(Request, Sizing), Error> {
    let of = |request| Ok::<_, Error>((request, Sizing::new(request)?));
    // The budget that is exceeded, with what is needed.
    let exceeded = |sizing: Sizing| {
        let needs = budgets.iter().filter_map(|(bytes, needs)| Some(((*bytes)?, needs(sizing))));
        { needs }.find(|(bytes, needed)| needed > bytes)
    };
    let most = budgets.iter().filter_map(|(bytes, _)| *bytes).min().expect("a budget");
    let items_are_given =
        if request.grows { request.max_capacity.is_some() } else { request.items() > 0 };
    let with = |items| {
        if items_are_given {
            request
        } else if request.grows {
            Request { max_capacity: Some(items), ..request }
        } else {
            Request { capacity: Some(items), ..request }
        }
    };
    let fewest = of(with(request.items()))?;
    if let Some((bytes, needed)) = exceeded(fewest.1) {
        let [bytes, needed] = [bytes, needed].map(sizing::in_address_space);
        return Err(Error::BudgetTooSmall { bytes, needed });
    }
    // Between a number of items for which there is room, and one for which there is none.
    let (mut found, mut room, mut none) =
        (fewest, request.items(), most.saturating_mul(8).max(request.items() + 2));
    while !items_are_given && none - room > 1 {
        let items = room + (none - room) / 2;
        match of(with(items)) {
            Ok(fits) if exceeded(fits.1).is_none() => (found, room) = (fits, items),
            _ => none = items,
        }
    }
    Ok(found)
}
