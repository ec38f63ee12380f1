//! The figures of a filter that a builder would build, computed without building it.
//!
//! **Invariant:** the built filter takes no more memory than these figures say, except for its stash and its counts of
//! doubled values.

use core::ops::Range;

use super::Builder;
use crate::error::Error;
use crate::layout::MAX_SLOTS;
use crate::sizing::{self, Request, Sizing};
use crate::snapshot::format::bytes_without_lists;
use crate::storage::Storage;
use crate::table::State;
use crate::table::placing::entry::Values;

/// The figures of a filter that a [`Builder`] would build. [`Builder::figures`] returns them.
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
    /// The name of the [layout](crate::Layout).
    pub layout_name: &'static str,
    /// The number of items that the filter holds; for a growing filter, the number that it holds before it grows. 0 for
    /// a growing filter without a capacity.
    pub initial_capacity: usize,
    /// The number of items that the filter holds at its maximum size. Equal to `initial_capacity` if the filter does not
    /// grow.
    pub max_capacity: usize,
    /// The memory of the filter with the given number of items, in bytes. The filter takes no more than this, except
    /// for these parts:
    ///
    /// * The [stash](crate#the-stash), which has few items or none, unless
    ///   [`stashed_share`](Self::stashed_share) says otherwise.
    /// * In a growing maplet or expiring filter, the counts of [doubled](crate::growth#doubled-entries) entries: up to
    ///   48 bytes for each value (or generation) that has such an entry (72 after merges), and a few KB.
    /// * In a large growing filter, after a `reserve` or a merge: up to a 64th of the table, because both may grow it
    ///   beyond the size that the items need.
    ///
    /// A growing filter may take up to a quarter less, because splits double fewer entries than this figure allows for.
    /// Below 40 KB the difference may be larger: there a growing filter takes memory in large steps.
    pub memory_bytes: usize,
    /// [`memory_bytes`](Self::memory_bytes) in bits, divided by the number of items. Infinite for 0 items.
    pub bits_per_item: f64,
    /// The number of bytes of a [snapshot](crate#snapshots) with these items. It does not include stashed items, each
    /// of which takes 16 bytes, nor the counts of [doubled](crate::growth#doubled-entries) entries: 24 bytes in a
    /// growing filter, and 24 for each of their values in a growing maplet or expiring filter.
    pub snapshot_bytes: usize,
    /// The number of items divided by the number of slots. Stashed items are counted.
    pub load_factor: f64,
    /// The [values per key](Builder::values_per_key), or [copies per item](Builder::copies_per_item), for which the
    /// filter is built. The default is 1.
    pub values_per_key: u32,
    /// The estimated share of the items that is stashed when the filter holds its capacity and each key has
    /// [`values_per_key`](Self::values_per_key) values. It was measured with filters of 2^18 slots. In a maplet, the
    /// share may be higher by up to half a percentage point, or up to one point if the fingerprint beside the value has
    /// 8 bits or less. Each stashed entry mostly takes 11 to 23 bytes in addition to
    /// [`memory_bytes`](Self::memory_bytes). In a filter, all stashed copies of an item are one entry.
    pub stashed_share: f64,
    /// The share of absent items that the filter reports as present when it holds the given number of items. In a
    /// maplet, it is not a probability but the mean number of false candidates of an absent key, which may be above 1.
    ///
    /// This is the rate of distinct items: with several copies of each item, it is lower.
    pub false_positive_rate: f64,
}

impl<L: Storage, S, T> Builder<L, S, T> {
    /// Returns the request, with the number of items that its budgets allow, and its sizing. `itself` is the size of
    /// the built value, in bytes.
    pub(crate) fn sizing<V: Values>(&self, itself: usize) -> Result<(Request, Sizing), Error> {
        let request = self.request;
        let of_memory = |sizing: Sizing| {
            itself as u64 + State::<L::Buckets<V>>::bytes_for(sizing, sizing.buckets)
        };
        let of_snapshot = |sizing: Sizing| snapshot_bytes(request, sizing.buckets);
        let budgets: [Budget<'_>; 2] = [
            ("memory_bytes", request.memory_bytes, &of_memory),
            ("snapshot_bytes", request.snapshot_bytes, &of_snapshot),
        ];
        if budgets.iter().all(|(_, bytes, _)| bytes.is_none()) {
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
            initial_capacity: capacity,
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

/// Returns the number of bytes of a snapshot of a table with `buckets` buckets, without its lists.
fn snapshot_bytes(request: Request, buckets: u64) -> u64 {
    bytes_without_lists(request.expires, buckets)
}

/// The method of the builder that sets a maximum number of bytes; this number, if it was set; and a function that
/// returns the bytes that a table needs at its maximum size.
type Budget<'a> = (&'static str, Option<u64>, &'a dyn Fn(Sizing) -> u64);

/// Finds the largest number of items for which the table keeps all budgets, unless the number of items is given.
fn sizing_within(budgets: [Budget<'_>; 2], request: Request) -> Result<(Request, Sizing), Error> {
    let of = |request| Ok::<_, Error>((request, Sizing::new(request)?));
    // The first budget that is exceeded: its name, its bytes, and the bytes that are needed.
    let exceeded = |sizing: Sizing| {
        let needed = |&(budget, bytes, needs): &Budget<'_>| Some((budget, bytes?, needs(sizing)));
        budgets.iter().filter_map(needed).find(|(_, bytes, needed)| needed > bytes)
    };
    let most =
        budgets.iter().filter_map(|(_, bytes, _)| *bytes).min().expect("at least one budget");
    let items_are_given =
        if request.grows { request.max_capacity.is_some() } else { request.capacity.is_some() };
    let with = |items| {
        if items_are_given {
            request
        } else if request.grows {
            Request { max_capacity: Some(items), ..request }
        } else {
            Request { capacity: Some(items), ..request }
        }
    };
    let mut room = request.items();
    let mut fewest = of(with(room));
    if !items_are_given && matches!(fewest, Err(Error::RateOutOfReach { .. })) {
        // A table of two buckets may have a higher rate than any larger one, since all its slots may be used.
        room = room.max(2 * MAX_SLOTS as u64 + 1);
        fewest = of(with(room)).or(fewest);
    }
    let fewest = fewest?;
    if let Some((budget, bytes, needed)) = exceeded(fewest.1) {
        let [bytes, needed] = [bytes, needed].map(sizing::in_address_space);
        return Err(Error::BudgetTooSmall { budget, bytes, needed });
    }
    if items_are_given {
        return Ok(fewest);
    }
    let fits = |items| of(with(items)).is_ok_and(|(_, sizing)| exceeded(sizing).is_none());
    let initial = |items| of(with(items)).map(|(_, sizing)| sizing.initial).ok();
    // No table has room for so many items. (An item takes more than a bit.)
    let end = most.saturating_mul(8).max(room + 2);
    let mut start = room;
    while start < end {
        if fits(start) {
            room = last_before(start..end, fits);
        }
        // The bytes rise with the number of items, except where a growing table begins with more buckets: it grows in
        // fewer steps, and may take less memory. So more items may fit from there on.
        let from = start.max(room);
        let first = initial(from);
        let is_alike = |items| !request.grows || initial(items) == first;
        start = last_before(from..end, is_alike) + 1;
    }
    of(with(room))
}

/// Returns the last number of the range for which `is_before` is true, if it is true for the first numbers of the
/// range, and false for all others.
fn last_before(Range { start, end }: Range<u64>, is_before: impl Fn(u64) -> bool) -> u64 {
    let (mut before, mut behind) = (start, end);
    while behind - before > 1 {
        let middle = before + (behind - before) / 2;
        *(if is_before(middle) { &mut before } else { &mut behind }) = middle;
    }
    before
}
