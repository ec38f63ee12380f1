//! Chooses a layout and a number of buckets for a request (items, a rate). Pure functions.
//!
//! **Invariant:** a table of the resulting size holds at least the requested number of items, at a rate no higher than
//! requested. If no table does, the result is an error.

mod crowds;
mod rates;

pub(crate) use self::crowds::Room;
use self::rates::weight;
pub(crate) use self::rates::{false_positive_rate, false_positive_rate_of_grown};
use crate::error::Error;
use crate::layout::{self, LayoutId, Properties};
use crate::table::SEGMENT;

/// The maximum number of stripes: 32 KiB of locks. A table of fixed size has them from 2^19 buckets on. A growing table
/// that may have 2^19 buckets gets them at 2^16.
pub(crate) const MAX_STRIPES: usize = 4096;

/// The maximum number of slots of a table, just below 2^44. The format of snapshots fixes this number: no header states
/// more slots, and the header of a growing table without a maximum states this number.
pub(crate) const MAX_SLOTS: u64 = (1 << 44) - (1 << 21);

// Each stripe counts its slots in use in 32 bits, and some stripes have one segment more than the others.
const _: () = assert!(
    MAX_SLOTS / MAX_STRIPES as u64 + (SEGMENT * layout::MAX_SLOTS) as u64 <= u32::MAX as u64
);

/// The minimum initial number of buckets of a growing table: fewer buckets form too few pairs.
const MIN_FIRST: u64 = 32;
/// The initial number of buckets of a growing table whose size was not requested: 1 KiB.
const DEFAULT_FIRST: u64 = 128;
/// At most one in this many slots in use may hold an entry that a split has doubled: with more of them, a table does
/// not grow further.
pub(crate) const MAX_DOUBLED: u64 = 4;
/// The number of bits of a slot, without those of the value, with which growth does not end: a new entry knows 7 bits
/// beyond its bucket.
const ENDLESS_BITS: u32 = 12;
/// A growing table without a maximum keeps its rate up to this number of items.
const ENDLESS_ITEMS: u64 = 1 << 40;
/// The highest rate of a growing table if its layout is chosen without a requested rate. This is the rate at the
/// maximum; if there is no maximum, the rate after ten doublings.
const MAX_CHOSEN_RATE: f64 = 0.02;
/// The same for an expiring filter: the share of new items that it reports as seen.
const MAX_CHOSEN_RATE_OF_EXPIRING: f64 = 0.004;
/// The lowest target load of a growing table that a builder may request, in thousandths.
pub(crate) const MIN_TARGET_LOAD: u32 = 500;
/// How far the load of a growing table exceeds the target before a bucket is split: the load is estimated from a
/// sample, which is not exact.
pub(crate) const LOAD_MARGIN: f64 = 0.01;

/// The options of the user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// The number of items that the filter holds; in a growing filter, before it grows.
    pub(crate) capacity: Option<u64>,
    /// Whether the filter grows.
    pub(crate) grows: bool,
    /// The number of items that a growing filter holds at its maximum size. `None`: as many as its layout can have.
    pub(crate) max_capacity: Option<u64>,
    /// The maximum memory in bytes. `Sizing` ignores this maximum and the next one: the builder finds the number of
    /// items for which they have room.
    pub(crate) memory_bytes: Option<u64>,
    /// The maximum size of a snapshot in bytes.
    pub(crate) snapshot_bytes: Option<u64>,
    /// The highest acceptable false-positive rate of a filter that holds all these items.
    pub(crate) rate: Option<f64>,
    /// The target load of a growing filter, in thousandths. `None`: that of the layout.
    pub(crate) target_load: Option<u32>,
    /// The number of bits of the value, or of the generation, in each slot. `None` for a filter that is neither a
    /// maplet nor an expiring filter.
    pub(crate) value_bits: Option<u32>,
    /// Whether it is an expiring filter.
    pub(crate) expires: bool,
    /// The layout, if it was named.
    pub(crate) only: Option<LayoutId>,
    /// The number of values per key of a maplet of fixed size, or of copies per item of a filter. `None`: one.
    pub(crate) values_per_key: Option<u32>,
}

/// The size of the table that a layout needs for a request.
#[derive(Clone, Copy)]
pub(crate) struct Sizing {
    pub(crate) layout: LayoutId,
    /// The initial number of buckets.
    pub(crate) initial: u64,
    /// The maximum number of buckets.
    pub(crate) buckets: u64,
    /// The target load of a growing table, in thousandths. 0 for a table of fixed size.
    pub(crate) target_load: u32,
    /// The number of bits of the value in each slot. 0 in a filter.
    pub(crate) value_bits: u32,
    /// The number of items that the table is for at its maximum size.
    pub(crate) max_capacity: u64,
}

impl Sizing {
    /// Returns the sizing of a layout, whatever its rate.
    pub(crate) fn of(layout: LayoutId, request: Request) -> Result<Self, Error> {
        if request.grows {
            return Self::of_growing(layout, request);
        }
        let value_bits = request.value_bits_of(layout)?;
        let capacity = request.capacity.ok_or(Error::NoCapacity)?;
        let buckets = buckets_for(layout.properties(), capacity, request.room_in(layout)?.load)?;
        let (initial, max_capacity) = (buckets, capacity);
        Ok(Self { layout, initial, buckets, target_load: 0, value_bits, max_capacity })
    }

    fn of_growing(layout: LayoutId, request: Request) -> Result<Self, Error> {
        let (capacity, max_capacity) = (request.items(), request.max_capacity);
        if let Some(max_capacity) = max_capacity.filter(|&max_capacity| max_capacity < capacity) {
            let [capacity, max_capacity] = [capacity, max_capacity].map(in_address_space);
            return Err(Error::MaxCapacityTooLow { capacity, max_capacity });
        }
        let properties = layout.properties();
        if properties.growth.is_none() {
            return Err(no_such_layout(true));
        }
        let value_bits = request.value_bits_of(layout)?;
        request.room_in(layout)?;
        let target_load = request.target_load_of(layout)?;
        let load = share(target_load);
        let extra_bits = properties.extra_bits(value_bits);
        let doublings = doublings(extra_bits);
        let slots = properties.slots as u64;
        // With a capacity, the size that it needs. Without one, the default, or less if the maximum needs less.
        let first = |most: u64| match capacity {
            0 => Ok(DEFAULT_FIRST.min(most).max(MIN_FIRST)),
            _ => buckets_for(properties, capacity, load).map(|needed| needed.max(MIN_FIRST)),
        };
        let (initial, buckets) = if let Some(items) = max_capacity {
            let most = buckets_for(properties, items, load)?;
            // At least the size from which `doublings` doublings reach the maximum: doublings are counted in levels.
            let with_doubled = most + most / MAX_DOUBLED;
            let least = with_doubled.next_power_of_two().checked_shr(doublings).unwrap_or(0);
            // A power of two of buckets may be more than a table can have.
            let initial = first(most)?.max(least.min(most_buckets(properties)));
            (initial, buckets_of_grown(properties, items, load, initial, extra_bits)?)
        } else {
            let (initial, largest) = (first(u64::MAX)?, most_buckets(properties));
            let reached = 1_u64.checked_shl(initial.ilog2() + doublings).unwrap_or(largest);
            (initial, reached.clamp(initial, largest.max(initial)))
        };
        let (times, of) = doubled_share(initial, buckets, extra_bits);
        let of_all = (buckets * slots) as f64 * load * of as f64 / (of + times) as f64;
        let max_capacity = max_capacity.unwrap_or(of_all as u64);
        Ok(Self { layout, initial, buckets, target_load, value_bits, max_capacity })
    }

    /// Returns the sizing of the named layout, or else of the best one for the request.
    pub(crate) fn new(request: Request) -> Result<Self, Error> {
        if request.rate.is_some_and(|rate| !(rate > 0.0 && rate < 1.0)) {
            return Err(Error::InvalidRate);
        }
        match request.only {
            Some(layout) => Self::within(layout, request),
            None => Self::smallest(request),
        }
    }

    /// Returns the sizing of a layout, or an error if its rate is too high.
    fn within(layout: LayoutId, request: Request) -> Result<Self, Error> {
        let sizing = Self::of(layout, request)?;
        let reached = sizing.rate(request);
        if request.rate.is_none_or(|rate| reached <= rate) {
            return Ok(sizing);
        }
        // If only the target load prevents it, the error still names the layout that reaches the rate.
        let with_other_load = Request { target_load: None, ..request };
        let smallest = Self::smallest(request).or_else(|_| Self::smallest(with_other_load))?;
        let (layout, other) = (layout.name(), Some(smallest.layout.name()));
        Err(Error::RateOutOfReach { layout, one_in: one_in(reached), other })
    }

    /// Returns the sizing of the layout with the smallest table, its stash included, that reaches the rate. Without a
    /// rate, it chooses among the layouts whose fingerprints are no shorter than those of the default layout. If two
    /// tables have the same size, it chooses the layout with the shorter fingerprints: the other is no faster.
    fn smallest(request: Request) -> Result<Self, Error> {
        // No layout stores longer values than this one.
        request.value_bits_of(LayoutId::Fp32x2)?;
        let most = request.rate.unwrap_or(match (request.grows, request.expires) {
            (false, _) => 1.0,
            (true, false) => MAX_CHOSEN_RATE,
            (true, true) => MAX_CHOSEN_RATE_OF_EXPIRING,
        });
        let sizings = Self::of_each_layout(request).flatten();
        let suiting = sizings.filter(|sizing| sizing.rate(request) <= most);
        if let Some(sizing) = suiting.min_by_key(|sizing| sizing.bits(request)) {
            return Ok(sizing);
        }
        // If the table of a layout would be too large, or the layout does not allow the load, that layout might have
        // reached the rate: return its error. Otherwise the longest fingerprints have the lowest rate.
        let last = Self::of_each_layout(request).try_fold(None, |_, sizing| sizing.map(Some))?;
        let sizing = last.expect("at least one layout stores the values");
        if request.rate.is_none() {
            return Ok(sizing);
        }
        let (layout, one_in) = (sizing.layout.name(), one_in(sizing.rate(request)));
        Err(Error::RateOutOfReach { layout, one_in, other: None })
    }

    /// Returns the memory of the buckets, in bits. With [`values_per_key`](Request::values_per_key), it includes the
    /// entries that are stashed at the capacity.
    fn bits(self, request: Request) -> u128 {
        let stashed =
            request.room_in(self.layout).map_or(0, |room| room.stashed_bits(self.max_capacity));
        u128::from(self.buckets) * u128::from(u64::BITS) + stashed
    }

    /// Returns the false-positive rate that a request limits: the rate of a table that holds all its items.
    fn rate(self, request: Request) -> f64 {
        let slots = self.layout.properties().slots as u64;
        self.false_positive_rate_at(match request.max_capacity {
            Some(items) => items,
            // The smallest table may get as many items as it has slots for.
            None if !request.grows => {
                request.items().max(if self.buckets == 2 { 2 * slots } else { 0 })
            }
            None if request.rate.is_some() => {
                let properties = self.layout.properties();
                items_of_rate(properties, self.buckets, self.max_capacity).max(request.items())
            }
            None => (((self.initial << 10) * slots) as f64 * share(self.target_load)) as u64,
        })
    }

    /// Returns the sizing of each layout that may be chosen for the request, in ascending order of fingerprint lengths.
    fn of_each_layout(request: Request) -> impl Iterator<Item = Result<Self, Error>> {
        let candidates = LayoutId::of_tables(request.grows).filter(move |&layout| {
            let is_long = layout as u8 >= LayoutId::Fp16x4 as u8 || request.rate.is_some();
            is_long && request.value_bits_of(layout).is_ok()
        });
        candidates.map(move |layout| Self::of(layout, request))
    }

    /// Returns the number of buckets of a table that holds this number of items; if the table grows, after it has grown
    /// for them.
    pub(crate) fn buckets_with(self, items: u64) -> u64 {
        let Self { layout, initial, buckets, target_load, value_bits, .. } = self;
        if target_load == 0 {
            return buckets;
        }
        let properties = layout.properties();
        let (load, extra_bits) = (share(target_load), properties.extra_bits(value_bits));
        let needed = buckets_of_grown(properties, items, load, initial, extra_bits);
        needed.map_or(buckets, |needed| needed.min(buckets))
    }

    /// Returns the false-positive rate of a table that holds this number of items; if the table grows, after it has
    /// grown from its initial size to hold them. Above the number of items of its maximum size, the table keeps that
    /// size and gets fuller.
    pub(crate) fn false_positive_rate_at(self, items: u64) -> f64 {
        self.false_positive_rate_with(items, 0.0)
    }

    /// Returns the rate as [`false_positive_rate_at`](Self::false_positive_rate_at) does, after merges have added
    /// `more` to the [weight](Self::weight_at) of a growing table.
    pub(crate) fn false_positive_rate_with(self, items: u64, more: f64) -> f64 {
        let Self { layout, buckets, target_load, value_bits, .. } = self;
        let properties = layout.properties();
        if target_load == 0 {
            return false_positive_rate(properties, items as f64 / buckets as f64, value_bits);
        }
        let weight = self.weight_at(items) + more.max(0.0);
        false_positive_rate_of_grown(properties, weight, value_bits)
    }

    /// Returns the sum of 2^-n over all entries of a growing table that has grown to hold this number of items, where
    /// an entry knows n bits of its position.
    pub(crate) fn weight_at(self, items: u64) -> f64 {
        let Self { layout, initial, buckets: max_buckets, target_load, value_bits, .. } = self;
        let properties = layout.properties();
        let items = items as f64;
        let items_per_bucket = properties.slots as f64 * (share(target_load) + LOAD_MARGIN);
        // Not `clamp`: its panic would add the code that prints floating-point numbers to every program.
        let buckets = (items / items_per_bucket).max(initial as f64).min(max_buckets as f64);
        let while_growing = items.min(buckets * items_per_bucket);
        let extra_bits = properties.extra_bits(value_bits);
        // Later entries know as many bits as entries of the last level.
        let level = (buckets as u64).ilog2();
        let later = (items - while_growing) * (-f64::from(level + extra_bits)).exp2();
        weight(while_growing, initial, buckets, extra_bits) + later
    }
}

impl Request {
    /// Returns the capacity, or 0 without one.
    pub(crate) fn items(self) -> u64 {
        self.capacity.unwrap_or(0)
    }

    /// Returns whether a table of this layout can grow from `initial` to `most` buckets, and then holds the items of
    /// the request. Its initial size may differ from the one that would be chosen now.
    pub(crate) fn may_grow(self, layout: LayoutId, initial: u64, most: u64) -> bool {
        let (Ok(_), Ok(load)) = (self.value_bits_of(layout), self.target_load_of(layout)) else {
            return false;
        };
        let slots = layout.properties().slots as u64;
        let holds =
            |buckets: u64, items: u64| items as f64 <= (buckets * slots) as f64 * share(load);
        let capacity = self.items();
        let max_capacity = self.max_capacity.unwrap_or(capacity);
        (2..=most).contains(&initial)
            && most <= MAX_SLOTS / slots
            && capacity <= max_capacity
            && holds(initial, capacity)
            && holds(most, max_capacity)
    }

    /// Returns the room that a table of this layout has for the values of a key.
    pub(crate) fn room_in(self, layout: LayoutId) -> Result<Room, Error> {
        let values_per_key = self.values_per_key.unwrap_or(1);
        let has_room =
            |&layout: &LayoutId| (1..=Room::most_values(layout)).contains(&values_per_key);
        if has_room(&layout) {
            return Ok(Room::of(layout, values_per_key));
        }
        let with_values = Self { values_per_key: None, ..self };
        let others = LayoutId::of_tables(self.grows).filter(has_room);
        let other = others.filter(|&other| with_values.value_bits_of(other).is_ok()).last();
        let (max, other) = (Room::most_values(layout), other.map(LayoutId::name));
        let layout = layout.name();
        Err(Error::ValuesPerKeyOutOfRange { layout, values_per_key, max, other })
    }

    /// Returns the number of bits of the value in each slot of a table of this layout. 0 for a filter.
    pub(crate) fn value_bits_of(self, layout: LayoutId) -> Result<u32, Error> {
        let Some(value_bits) = self.value_bits else {
            return Ok(0);
        };
        // If the user has chosen no size at which growth may end, values must leave enough bits for growth.
        let is_endless = self.grows && self.items() == 0 && self.max_capacity.is_none();
        let with_end = |layout: LayoutId| most_value_bits(layout.properties());
        let without_end = |layout: LayoutId| layout.properties().bits.saturating_sub(ENDLESS_BITS);
        let most =
            |layout: LayoutId| if is_endless { without_end(layout) } else { with_end(layout) };
        let stores = |&layout: &LayoutId| (1..=most(layout)).contains(&value_bits);
        if stores(&layout) {
            return Ok(value_bits);
        }
        Err(Error::ValueBitsOutOfRange {
            layout: layout.name(),
            value_bits,
            max: most(layout),
            max_with_end: with_end(layout),
            other: LayoutId::of_tables(self.grows).find(stores).map(LayoutId::name),
        })
    }

    /// Returns the target load of a growing table of this layout, in thousandths.
    fn target_load_of(self, layout: LayoutId) -> Result<u32, Error> {
        // For a layout that cannot grow, the range of loads is empty.
        let growth = layout.properties().growth;
        let [target, max] =
            growth.map_or([0.0; 2], |growth| [growth.target_load, growth.max_target_load]);
        let load = self.target_load.unwrap_or(thousandths(target));
        // With a value, the core may be so short that kicks find less room.
        let max = thousandths(max).saturating_sub(if self.value_bits.is_some() { 10 } else { 0 });
        if (MIN_TARGET_LOAD..=max).contains(&load) {
            return Ok(load);
        }
        Err(Error::TargetLoadOutOfRange { layout: layout.name(), min: MIN_TARGET_LOAD, max })
    }
}

/// Returns the maximum number of value bits that a table of this layout stores.
///
/// A fingerprint has a minimum length, for two reasons:
///
/// * The shorter a fingerprint is, the more items have the same fingerprint and the same two buckets. If these are more
///   than 2b items, for b slots per bucket, some are stashed. At the minimum length, this is expected in less than one
///   in 30,000 tables of 2^20 buckets.
/// * The shorter a fingerprint is, the fewer other buckets the entries of one bucket have, which lowers the reachable
///   load. With one bit less, large tables of most layouts would not hold the items that they are made for.
///
/// In a growing table, core and ring together have as many bits as the fingerprint.
#[inline]
pub(crate) fn most_value_bits(layout: &Properties) -> u32 {
    let min_fingerprint_bits = match layout.slots {
        2 => 9,
        3 => 7,
        4 | 5 => 6,
        _ => 5,
    };
    layout.bits - min_fingerprint_bits
}

/// Returns the layout with this name, if growing tables (`grows`) or tables of fixed size can have it.
pub(crate) fn layout_named(grows: bool, name: &str) -> Result<LayoutId, Error> {
    let named = LayoutId::of_tables(grows).find(|layout| layout.name() == name);
    named.ok_or_else(|| no_such_layout(grows))
}

fn no_such_layout(grows: bool) -> Error {
    let names = if grows { LayoutId::GROWING_NAMES } else { LayoutId::NAMES };
    Error::NoSuchLayout { grows, names }
}

/// Returns a share in thousandths, rounded to the nearest number. 0 if the share is negative or not a number.
pub(crate) fn thousandths(share: f64) -> u32 {
    (1000.0 * share).round() as u32
}

pub(crate) fn share(thousandths: u32) -> f64 {
    f64::from(thousandths) / 1000.0
}

/// Returns `n` for a rate of one in `n`, rounded down: the rate of one in the result is no lower than `rate`. Returns 1
/// for a mean number of answers above 1.
pub(crate) fn one_in(rate: f64) -> u64 {
    ((1.0 / rate) as u64).max(1)
}

/// Converts a number to the `usize` of the API. A number that is larger than the address space becomes its maximum.
pub(crate) fn in_address_space(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// Returns the maximum number of buckets of a table of this layout.
pub(crate) fn most_buckets(layout: &Properties) -> u64 {
    MAX_SLOTS / layout.slots as u64 / 2 * 2
}

/// Returns up to how many items a growing table keeps its rate: `max_capacity`, or less if growth does not end.
pub(crate) fn items_of_rate(layout: &Properties, max_buckets: u64, max_capacity: u64) -> u64 {
    let most = if is_endless(layout, max_buckets) { ENDLESS_ITEMS } else { u64::MAX };
    max_capacity.min(most)
}

/// Returns whether growth to this maximum does not end in practice.
pub(crate) fn is_endless(layout: &Properties, max_buckets: u64) -> bool {
    max_buckets == most_buckets(layout)
}

/// Returns how many times a table can double before splits have doubled one in [`MAX_DOUBLED`] of its slots in use, if
/// it begins with a power of two of buckets. With 7 extra bits, it doubles more often than there is memory for.
fn doublings(extra_bits: u32) -> u32 {
    extra_bits + (1 << extra_bits) / MAX_DOUBLED as u32
}

/// Returns the maximum share of items of which splits have doubled an entry, in a table that has grown from `initial`
/// to `most` buckets. The share is the first number divided by the second.
///
/// An entry that is inserted at level L knows L + T bits, and each level from L + T on doubles it. Of 2^D items, 1 is
/// there at first, and each level L adds 2^L. So in a table of D doublings, D - T of 2^T items were doubled.
fn doubled_share(initial: u64, most: u64, extra_bits: u32) -> (u64, u64) {
    let wanted = most.div_ceil(1 << initial.ilog2()).next_power_of_two().ilog2();
    (wanted.min(doublings(extra_bits)).saturating_sub(extra_bits).into(), 1 << extra_bits)
}

/// Returns the number of buckets of a table that has grown from `initial` buckets to hold `items` items at this load,
/// with room for the entries that splits have doubled.
fn buckets_of_grown(
    layout: &Properties,
    items: u64,
    load: f64,
    initial: u64,
    extra_bits: u32,
) -> Result<u64, Error> {
    let most = buckets_for(layout, items, load)?;
    let (times, of) = doubled_share(initial, most + most / MAX_DOUBLED, extra_bits);
    let doubled = (u128::from(items) * u128::from(times) / u128::from(of)) as u64;
    let with_doubled = buckets_for(layout, items.saturating_add(doubled), load);
    let too_large = |_| Error::CapacityOverflow { capacity: in_address_space(items) };
    Ok(with_doubled.map_err(too_large)?.max(initial))
}

/// Returns the number of buckets of a table that holds `items` items at this load.
///
/// Two buckets hold as many items as they have slots, whatever the items are. In larger tables, the load at which the
/// first item finds no room scatters around a mean: the smaller the table, the more it scatters. So a table has spare
/// slots, in proportion to the number of items and to its square root. (An item that still finds no room is stashed.)
///
/// A snapshot is restored only if its sizes are those of this function, so the result must be the same on every
/// machine: all operations here are exactly rounded (IEEE 754).
pub(crate) fn buckets_for(layout: &Properties, items: u64, load: f64) -> Result<u64, Error> {
    let pair = 2 * layout.slots as u64;
    if items <= pair {
        return Ok(2);
    }
    let n = items as f64;
    let loaded = (n / load + layout.scatter * n.sqrt()) / layout.slots as f64;
    // Exact: far below 2^53. A number that is too large becomes `u64::MAX`.
    let pairs = (loaded / 2.0).ceil() as u64;
    if pairs > MAX_SLOTS / pair {
        return Err(Error::CapacityOverflow { capacity: in_address_space(items) });
    }
    Ok(2 * pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::LayoutId::{self, Fp8x8, Fp12x5, Fp16x4, Fp21x3, Fp32x2, SemiSorted17x4};
    use crate::random::{cases, run_cases};
    use proptest::prelude::*;

    fn fixed(capacity: u64, rate: Option<f64>) -> Request {
        Request { capacity: Some(capacity), rate, ..Request::default() }
    }

    /// The rate of a layout that a request limits.
    fn rate_of(layout: LayoutId, request: Request) -> f64 {
        Sizing::of(layout, request).unwrap().rate(request)
    }

    /// The sizing reaches any rate, and no layout with a smaller table does. A growing table may not reach the rate.
    #[test]
    fn the_smallest_that_reaches_the_rate() {
        for items in [0, 1, 4, 10, 100, 1000, 100_000] {
            for rate in (1..90).map(|tenths| 10_f64.powf(-f64::from(tenths) / 10.0)) {
                for request in [
                    fixed(items, Some(rate)),
                    Request { rate: Some(rate), ..growing(items / 8, items) },
                ] {
                    let sizing = Sizing::new(request);
                    assert!(sizing.is_ok() || request.grows);
                    let Ok(sizing) = sizing else { continue };
                    assert!(sizing.rate(request) <= rate);
                    for other in Sizing::of_each_layout(request).flatten() {
                        let is_worse =
                            other.buckets >= sizing.buckets || other.rate(request) > rate;
                        assert!(is_worse, "{:?} for {items}, {rate}", other.layout);
                    }
                }
            }
        }
    }

    #[test]
    fn a_table_that_cannot_be_built_is_an_error() {
        for rate in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
            let error = Sizing::new(fixed(100, Some(rate))).err().unwrap();
            assert_eq!(error, Error::InvalidRate, "{rate}");
        }
        for (items, rate) in [(u64::MAX, 0.01), (1 << 62, 1e-7)] {
            let error = Sizing::smallest(fixed(items, Some(rate))).err();
            assert_eq!(error, Some(Error::CapacityOverflow { capacity: in_address_space(items) }));
        }
        let error = Sizing::smallest(fixed(1 << 20, Some(1e-12))).err();
        let one_in = one_in(rate_of(Fp32x2, fixed(1 << 20, None)));
        let expected = Error::RateOutOfReach { layout: "Fp32x2", one_in, other: None };
        assert_eq!(error, Some(expected));
    }

    /// The error of a named layout that cannot reach the rate names the smallest layout that can.
    #[test]
    fn an_error_names_the_layout_that_does() {
        let error = Sizing::within(Fp8x8, fixed(10_000, Some(0.0001))).err().unwrap();
        let reached = one_in(rate_of(Fp8x8, fixed(10_000, None)));
        let other = Some("SemiSorted17x4");
        assert_eq!(error, Error::RateOutOfReach { layout: "Fp8x8", one_in: reached, other });
        assert!(error.to_string().contains(": SemiSorted17x4 reaches the rate, "), "{error}");
        assert!(Sizing::within(SemiSorted17x4, fixed(10_000, Some(0.0001))).is_ok());

        // If no layout can, the error states the lowest rate of all layouts.
        let error = Sizing::within(Fp16x4, fixed(10_000, Some(1e-12))).err();
        let one_in = one_in(rate_of(Fp32x2, fixed(10_000, None)));
        let layout = "Fp32x2";
        assert_eq!(error, Some(Error::RateOutOfReach { layout, one_in, other: None }));
    }

    /// The smallest table keeps its rate with two buckets full of items, also if it is built for fewer.
    #[test]
    fn a_table_for_nothing_keeps_its_rate() {
        for (items, rate, layout) in [(0, 0.05, "Fp9x7"), (3, 0.02, "Fp10x6"), (0, 1e-9, "Fp32x2")]
        {
            let sizing = Sizing::new(fixed(items, Some(rate))).unwrap();
            let slots = sizing.layout.properties().slots as u64;
            assert_eq!((sizing.layout.name(), sizing.buckets), (layout, 2));
            assert!(sizing.false_positive_rate_at(2 * slots) <= rate);
        }
        let error = Sizing::new(fixed(0, Some(1e-12))).err().unwrap();
        assert!(matches!(error, Error::RateOutOfReach { other: None, .. }), "{error}");
    }

    /// The largest table has nearly 2^44 slots, whatever its layout.
    #[test]
    fn no_table_is_larger_than_its_counters_count() {
        fn check(layout: LayoutId) {
            let (mut fits, mut too_many) = (0, u64::MAX);
            while too_many - fits > 1 {
                let items = u64::midpoint(fits, too_many);
                match buckets_for(layout.properties(), items, layout.properties().load) {
                    Ok(buckets) => {
                        assert!(
                            buckets * layout.properties().slots as u64 >= items
                                && buckets * layout.properties().slots as u64 <= MAX_SLOTS
                        );
                        fits = items;
                    }
                    Err(error) => {
                        assert_eq!(
                            error,
                            Error::CapacityOverflow { capacity: in_address_space(items) }
                        );
                        too_many = items;
                    }
                }
            }
            let share = fits as f64 / MAX_SLOTS as f64;
            assert!((share - layout.properties().load).abs() < 0.001, "{}: {share}", layout.name());
        }
        LayoutId::ALL.iter().copied().for_each(check);
    }

    /// Of two layouts that reach the rate, the first has the larger table, but the smaller sum of table and stash.
    #[test]
    fn stashed_entries_count_where_a_layout_is_chosen() {
        let request = Request { values_per_key: Some(6), ..fixed(1_000_000, Some(2e-6)) };
        let [chosen, other] = [Fp21x3, Fp32x2].map(|layout| Sizing::of(layout, request).unwrap());
        assert!(other.rate(request) < 2e-6 && other.buckets < chosen.buckets);
        assert_eq!(Sizing::new(request).unwrap().layout, Fp21x3);
    }

    /// Compares the predicted rate with the sum over all values of a fingerprint.
    #[test]
    fn fingerprints_are_equal_by_chance_as_often_as_predicted() {
        // 254 values have a probability of 1/256 each, and one value has 2/256.
        let equal = 254.0 / 256_f64.powi(2) + (2.0 / 256_f64).powi(2);
        let predicted = 1.0 - (1.0 - equal).powf(16.0 * 0.5);
        let stated = false_positive_rate(Fp8x8.properties(), 8.0 * 0.5, 0);
        assert!((stated / predicted - 1.0).abs() < 1e-9, "{stated}, {predicted}");
    }

    fn growing(capacity: u64, max_capacity: u64) -> Request {
        Request { max_capacity: Some(max_capacity), ..endless(capacity) }
    }

    /// Without a maximum.
    fn endless(capacity: u64) -> Request {
        Request { grows: true, ..fixed(capacity, None) }
    }

    /// Requests of any magnitude that every layout can fulfil, with two numbers of items.
    fn requests() -> impl Strategy<Value = (Request, [u64; 2])> {
        let items = || (0..36_u32).prop_flat_map(|bits| 0..=1_u64 << bits);
        let load = prop_oneof![Just(None), (MIN_TARGET_LOAD..=750).prop_map(Some)];
        (items(), items(), load, items(), items()).prop_map(|(a, b, target_load, c, d)| {
            let request = Request { target_load, ..growing(a.min(b), a.max(b)) };
            (request, [c.min(d), c.max(d)])
        })
    }

    /// A growing table that begins with `initial` buckets, and has at most `buckets`.
    fn grown(layout: LayoutId, initial: u64, buckets: u64, target_load: u32) -> Sizing {
        Sizing { target_load, ..Sizing::of_table(layout, initial, buckets) }
    }

    /// Checks the table of a growing filter for any request.
    fn check(layout: LayoutId, request: Request, [fewer, more]: [u64; 2]) {
        let sizing = Sizing::of(layout, request).unwrap();
        let Sizing { initial, buckets, target_load, .. } = sizing;
        let properties = layout.properties();
        let extra_bits = properties.extra_bits(sizing.value_bits);
        let max_capacity = request.max_capacity.unwrap();
        assert_eq!(sizing.max_capacity, max_capacity);
        assert!(initial % 2 == 0 && initial >= MIN_FIRST && initial <= buckets);
        let load = share(target_load);
        let default = thousandths(properties.target_load());
        assert_eq!(target_load, request.target_load.unwrap_or(default));
        let room = |buckets: u64| (buckets * properties.slots as u64) as f64 * load;
        assert!(room(initial) >= request.items() as f64 && room(buckets) >= max_capacity as f64);
        // With two buckets less it would be too small.
        let needed = |items| buckets_for(properties, items, load).unwrap();
        // With room for the entries that splits double.
        let (times, of) = doubled_share(initial, buckets, extra_bits);
        let share = times as f64 / of as f64;
        let least = needed((max_capacity as f64 * (1.0 + share)) as u64);
        assert!(share <= 1.0 / MAX_DOUBLED as f64 && least <= buckets);
        assert!(buckets <= needed(max_capacity * 5 / 4 + 8).max(initial));
        let first = needed(request.items()).max(MIN_FIRST);
        let first = if request.items() == 0 {
            first.max(DEFAULT_FIRST.min(needed(max_capacity)))
        } else {
            first
        };
        // The table begins larger only if it could not reach the maximum otherwise.
        let reached = |initial: u64| f64::from(initial.ilog2() + doublings(extra_bits)).exp2();
        assert!(initial >= first && reached(initial) >= buckets as f64);
        let most = (needed(max_capacity) * (MAX_DOUBLED + 1) / MAX_DOUBLED) as f64;
        assert!(initial == first || reached(initial / 2) < most);

        let at = |items| sizing.false_positive_rate_at(items);
        assert!(at(0) == 0.0 && at(fewer) <= at(more) && at(more) <= 1.0);
        assert!(at(fewer.min(max_capacity)) <= sizing.rate(request));
    }

    macro_rules! sizing_of_each_growing_layout {
        ($($layout:ident)*) => {
            $(#[test]
            #[expect(non_snake_case, reason = "named after the layout")]
            fn $layout() {
                run_cases(cases(), &requests(), &|(request, items)| {
                    check(LayoutId::$layout, request, items);
                });
            })*
        };
    }

    mod a_growing_table_has_room_and_keeps_its_rate {
        use super::*;
        crate::for_each_layout!(that grows: sizing_of_each_growing_layout);
    }

    /// Compares the closed formula with a sum over the items: each knows the bits of its level and `extra_bits` more.
    #[test]
    fn the_weight_is_the_sum_over_all_entries() {
        fn check(layout: LayoutId, initial: u64, max_buckets: u64, load: u32) {
            let properties = layout.properties();
            let items_per_bucket = properties.slots as f64 * (share(load) + LOAD_MARGIN);
            let room = (max_buckets as f64 * items_per_bucket) as u64;
            let (mut sum, mut steps) = (0.0, 0);
            for items in 0..room * 11 / 10 {
                if items % 29 == 0 && items > 0 {
                    let sizing = grown(layout, initial, max_buckets, load);
                    let rate = sizing.false_positive_rate_at(items);
                    let expected = false_positive_rate_of_grown(properties, sum, 0);
                    assert!((rate / expected - 1.0).abs() < 0.005, "{items}: {rate}, {expected}");
                    steps += 1;
                }
                let buckets = (items as f64 / items_per_bucket) as u64;
                let level = buckets.clamp(initial, max_buckets).ilog2();
                sum += (-f64::from(level + properties.extra_bits(0))).exp2();
            }
            assert!(steps > 100);
        }
        check(Fp12x5, 32, 32 << 9, 815);
        check(Fp16x4, 64, 64 << 11, 800);
        check(Fp16x4, 128, 7000, 500);
        check(Fp16x4, 1 << 12, 1 << 12, 870);
        check(Fp21x3, 32, 32 * 1000, 760);
        check(Fp32x2, 32, 32 << 12, 690);
    }

    /// Cores are drawn from 2^k - 1 values, and positions are bits of the hash. The rate of a table that has doubled D
    /// times is the documented one, for every D: 2b·load·2^-(w-1)·(1 + D).
    #[test]
    fn the_rate_of_a_grown_table() {
        fn check(layout: LayoutId) {
            let properties = layout.properties();
            let (extra_bits, target_load) = (properties.extra_bits(0), properties.target_load());
            let cores = f64::from(properties.core_bits(0)).exp2() - 1.0;
            let equal = (-f64::from(extra_bits)).exp2() / cores;
            let (initial, load) = (1 << 10, thousandths(target_load));
            let items_per_bucket = properties.slots as f64 * (target_load + LOAD_MARGIN);
            for doublings in 0..doublings(extra_bits).min(20) {
                let buckets = initial << doublings;
                let items = (buckets as f64 * items_per_bucket) as u64;
                let rate = grown(layout, initial, buckets, load).false_positive_rate_at(items);
                let levels = f64::from(1 + doublings);
                let of_pairs = |equal: f64| -(-2.0 * items_per_bucket * levels * equal).exp_m1();
                let expected = of_pairs(equal);
                assert!((rate / expected - 1.0).abs() < 0.002, "{doublings}: {rate}, {expected}");
                let documented = of_pairs((1.0 - f64::from(properties.bits)).exp2());
                // The documented formula counts the core 0, which no item has.
                assert!(
                    (rate / documented - 1.0).abs() < 0.005 + 1.0 / cores,
                    "{rate}, {documented}"
                );
            }
        }
        LayoutId::of_tables(true).for_each(check);
    }

    /// Compares with a simulation of the levels, which counts the entries for each number of known bits.
    #[test]
    fn a_table_doubles_until_too_many_entries_are_doubled() {
        for extra_bits in 1..12 {
            // The table begins with one item. Entries are counted by the bits that they know beyond their bucket.
            let mut entries = vec![0_u64; extra_bits as usize + 1];
            entries[extra_bits as usize] = 1;
            let (mut items, mut most) = (1_u64, None);
            for doublings in 0..30 {
                let all: u64 = entries.iter().sum();
                if most.is_none() && (all - items) * MAX_DOUBLED > items {
                    most = Some(doublings - 1);
                }
                // The number of items doubles, and then each bucket stands for one bit more. Entries that know no bit
                // beyond their bucket are doubled, and know no bit beyond their two buckets.
                entries[extra_bits as usize] += items;
                items *= 2;
                let void = entries.remove(0);
                entries[0] += 2 * void;
                entries.push(0);
            }
            let predicted = doublings(extra_bits);
            assert_eq!((predicted < 29).then_some(predicted), most, "{extra_bits}");
        }
        assert_eq!([1, 5, 7].map(doublings), [1, 13, 39]);
    }

    /// Without a capacity, a table begins with 1 KiB, or with less if its maximum needs less. Without a maximum, growth
    /// ends when memory ends, except with short rings.
    #[test]
    fn sizes_that_nobody_has_asked_for() {
        for layout in LayoutId::of_tables(true) {
            let properties = layout.properties();
            let sizing = Sizing::of(layout, endless(0)).unwrap();
            assert_eq!(sizing.initial, DEFAULT_FIRST);
            let load = share(sizing.target_load);
            let room = (sizing.buckets * properties.slots as u64) as f64 * load;
            let (times, of) =
                doubled_share(sizing.initial, sizing.buckets, properties.extra_bits(0));
            let share = 1.0 + times as f64 / of as f64;
            assert!((sizing.max_capacity as f64 * share / room - 1.0).abs() < 1e-5);
            assert!(sizing.max_capacity > 1 << 43, "{}", layout.name());
            assert!(sizing.buckets * properties.slots as u64 <= MAX_SLOTS);
            let large = Sizing::of(layout, endless(100_000)).unwrap();
            assert_eq!(large.initial, buckets_for(properties, 100_000, load).unwrap());
            assert!(large.max_capacity > 1 << 43);
            // A requested rate is then the rate at 2^40 items, or at the capacity if that is larger.
            for (capacity, items) in [(0, 1 << 40), (100_000, 1 << 40), (1 << 42, 1 << 42)] {
                let request = Request { rate: Some(0.5), ..endless(capacity) };
                let expected = Sizing::of(layout, request).unwrap().false_positive_rate_at(items);
                assert_eq!(rate_of(layout, request).to_bits(), expected.to_bits());
            }
        }
        let initial = |max_capacity| Sizing::of(Fp16x4, growing(0, max_capacity)).unwrap().initial;
        // Less than 1 KiB is enough for the first three.
        assert_eq!([0, 50, 100].map(initial), [32, 32, 40]);
        assert_eq!([1000, 100_000, 1 << 40].map(initial), [128; 3]);
    }

    /// With a maximum that it could not reach from 1 KiB, a table with short rings begins larger.
    #[test]
    fn short_rings_begin_with_more() {
        for (layout, value_bits) in [(Fp12x5, 2), (Fp16x4, 6), (Fp16x4, 9), (Fp21x3, 13)] {
            let request = Request { value_bits: Some(value_bits), ..growing(0, 1 << 30) };
            let sizing = Sizing::of(layout, request).unwrap();
            let doublings = doublings(layout.properties().extra_bits(value_bits));
            let least = sizing.buckets.div_ceil(1 << doublings).next_power_of_two();
            assert!(sizing.initial == least || sizing.initial == 2 * least, "{layout:?}");
            assert!(sizing.initial > DEFAULT_FIRST && sizing.max_capacity == 1 << 30);
        }
    }

    /// The table in the documentation of `CuckooMaplet` has the right value lengths of each layout.
    #[test]
    fn lengths_of_values_are_documented() {
        for &layout in LayoutId::ALL {
            let ends = |value_bits| {
                let request = Request { value_bits: Some(value_bits), ..endless(0) };
                Sizing::of(layout, request).is_err()
            };
            let (name, properties) = (layout.name(), layout.properties());
            let most = most_value_bits(properties);
            let grows = match (1..=most).find(|&value_bits| ends(value_bits)) {
                _ if properties.growth.is_none() => "",
                Some(1) => " none",
                Some(ends) => &format!(" 1 to {}", ends - 1),
                None => panic!("values leave no bits for growth"),
            };
            let row = format!("/// | [`{name}`](crate::{name}) | 1 to {most} |{grows} |\n");
            assert!(include_str!("kinds/maplet.rs").contains(&row), "{row}");
        }
    }

    /// Values leave rings of nine bits where they can, and cores of at least four bits. Each value bit doubles the
    /// rate.
    #[test]
    fn values_take_bits_of_core_and_ring() {
        fn check(layout: LayoutId) {
            let properties = layout.properties();
            let most = most_value_bits(properties);
            let request = |value_bits, most| Request { value_bits, ..growing(1000, most) };
            let of = |value_bits, most| Sizing::of(layout, request(value_bits, most)).unwrap();
            let longest = properties.growth.unwrap().max_core_bits;
            for value_bits in 0..=most {
                let (ring, core) =
                    (properties.ring_bits(value_bits), properties.core_bits(value_bits));
                assert_eq!(core + ring + value_bits, properties.bits);
                assert!((4..=longest).contains(&core) && ring >= 2);
                assert!(if ring < 9 { core == 4 } else { ring == 9 || core == longest });
            }
            for value_bits in 1..=most {
                let sizing = of(Some(value_bits), 1_000_000);
                let doublings = doublings(properties.extra_bits(value_bits));
                assert!(sizing.buckets.div_ceil(sizing.initial).ilog2() <= doublings);
                assert_eq!(sizing.value_bits, value_bits);
                // In tables of one size: the rate of a filter is that of many lookups, each with one match.
                let (with, without) = (of(Some(value_bits), 1900), of(None, 1900));
                if with.initial == without.initial {
                    let [with, without] = [with, without].map(|of| of.false_positive_rate_at(1900));
                    let matches = -(-without).ln_1p() * f64::from(value_bits).exp2();
                    // One of 2^k cores is not drawn.
                    let drawn =
                        |value_bits| 1.0 - (-f64::from(properties.core_bits(value_bits))).exp2();
                    let expected = matches * drawn(0) / drawn(value_bits);
                    assert!((with / expected - 1.0).abs() < 0.001, "{}", layout.name());
                }
            }
            let error = Sizing::of(layout, request(Some(most + 1), 1900)).err();
            assert!(matches!(error, Some(Error::ValueBitsOutOfRange { .. })));
        }
        LayoutId::of_tables(true).for_each(check);
    }

    /// Beside a value, each of the 2^f - 1 fingerprints of f bits has the same probability.
    #[test]
    fn candidates_of_a_maplet_of_fixed_size() {
        let stated = false_positive_rate(Fp8x8.properties(), 8.0 * 0.5, 3);
        assert!((stated - 16.0 * 0.5 / 31.0).abs() < 1e-12, "{stated}");
        let request = Request { value_bits: Some(3), ..fixed(1000, Some(0.3)) };
        assert_eq!(Sizing::smallest(request).unwrap().layout.name(), "Fp9x7");
        let request = Request { value_bits: Some(24), ..fixed(1000, Some(0.3)) };
        let error = Sizing::smallest(request).err();
        assert!(matches!(error, Some(Error::ValueBitsOutOfRange { layout: "Fp32x2", .. })));
    }

    /// A layout that cannot grow, or that could not reach the rate, is not chosen.
    #[test]
    fn a_layout_that_grows_is_chosen_by_its_rate() {
        for (rate, name) in [(0.1, "Fp12x5"), (0.01, "Fp16x4"), (1e-4, "Fp21x3"), (1e-7, "Fp32x2")]
        {
            let request = Request { rate: Some(rate), ..growing(1000, 1_000_000) };
            let sizing = Sizing::smallest(request).unwrap();
            assert_eq!(sizing.layout.name(), name);
            assert!(sizing.rate(request) <= rate);
            if name != "Fp12x5" {
                let error = Sizing::within(Fp12x5, request).err().unwrap();
                let message = format!(": {name} reaches the rate, ");
                assert!(error.to_string().contains(&message), "{error}");
            }
        }
        assert_eq!(Sizing::smallest(growing(0, 1 << 30)).unwrap().layout.name(), "Fp16x4");
        for layout in [Fp8x8, SemiSorted17x4] {
            assert!(Sizing::of(layout, growing(0, 1000)).is_err());
        }
    }

    /// Without a rate, a layout is chosen with which growth does not end, and with which at most 0.4 % of absent items
    /// are reported as present after ten doublings.
    #[test]
    fn a_layout_that_grows_is_chosen_by_its_generations() {
        let expiring = |value_bits, request| Request {
            value_bits: Some(value_bits),
            expires: true,
            ..request
        };
        for value_bits in 1..=8 {
            let request = expiring(value_bits, endless(0));
            let sizing = Sizing::new(request).unwrap();
            assert!(sizing.rate(request) <= 0.004 && sizing.max_capacity > 1 << 43);
            let name = if value_bits <= 6 { "Fp21x3" } else { "Fp32x2" };
            assert_eq!(sizing.layout.name(), name);
            assert!(Sizing::of(Fp16x4, request).is_err() || rate_of(Fp16x4, request) > 0.004);
        }
        assert_eq!(Sizing::new(expiring(3, growing(1000, 2000))).unwrap().layout.name(), "Fp16x4");
    }

    /// Without a rate, a layout is chosen with which growth does not end, and with which at most 2 % of absent keys
    /// have a candidate after ten doublings. With longer values, it is the layout with the lowest rate.
    #[test]
    fn a_layout_that_grows_is_chosen_by_its_values() {
        let chosen = |request: Request, value_bits| {
            let request = Request { value_bits: Some(value_bits), ..request };
            let sizing = Sizing::new(request)?;
            let after_ten = (sizing.initial << 10) as f64 * sizing.layout.properties().slots as f64;
            let after_ten = after_ten * share(sizing.target_load);
            let rate = sizing.false_positive_rate_at(sizing.max_capacity.min(after_ten as u64));
            assert!(rate <= 0.02 || value_bits > 20, "{rate} with {value_bits} bits");
            Ok(sizing.layout.name())
        };
        for value_bits in 1..=20 {
            let name = match value_bits {
                1..=3 => "Fp16x4",
                4..=8 => "Fp21x3",
                _ => "Fp32x2",
            };
            assert_eq!(chosen(endless(0), value_bits), Ok(name));
            assert!(
                Sizing::new(Request { value_bits: Some(value_bits), ..endless(0) })
                    .unwrap()
                    .max_capacity
                    > 1 << 43
            );
        }
        let out_of_range = Error::ValueBitsOutOfRange {
            layout: "Fp32x2",
            value_bits: 21,
            max: 20,
            max_with_end: 23,
            other: None,
        };
        assert_eq!(chosen(endless(0), 21), Err(out_of_range));
        // The rate at the maximum counts, which may be reached before or after ten doublings.
        assert_eq!(chosen(growing(10_000, 20_000), 5), Ok("Fp16x4"));
        assert_eq!(chosen(growing(0, 1 << 40), 3), Ok("Fp21x3"));
        assert_eq!(chosen(growing(0, 1000), 23), Ok("Fp32x2"));
    }

    /// A named layout stores values with which its growth ends only if the user chose a size. Otherwise the error names
    /// a layout with which growth does not end.
    #[test]
    fn growth_ends_only_where_somebody_chose_it() {
        let of = |request| Request { value_bits: Some(6), only: Some(Fp16x4), ..request };
        let error = Sizing::new(of(endless(0))).err().unwrap();
        let (layout, other) = ("Fp16x4", Some("Fp21x3"));
        let expected =
            Error::ValueBitsOutOfRange { layout, value_bits: 6, max: 4, max_with_end: 10, other };
        assert_eq!(error, expected);
        assert!(Sizing::new(of(growing(0, 1 << 33))).unwrap().max_capacity == 1 << 33);
        assert!(Sizing::new(of(endless(1000))).unwrap().max_capacity > 1_000_000);
    }

    /// A layout that an error names reaches the rate, and a rate that an error names is that of a layout.
    #[test]
    fn errors_of_growing_tables_name_ways_out() {
        let (mut layouts, mut rates) = (0, 0);
        let capacities = [0, 10, 1000, 100_000].into_iter();
        let sizes = capacities.flat_map(|first| [1, 10, 1000].map(|by| (first, 9 + first * by)));
        let tenths = || 10..95_u32;
        for ((first, most), tenths) in sizes.flat_map(|size| tenths().map(move |at| (size, at))) {
            let rate = 10_f64.powf(-f64::from(tenths) / 10.0);
            let reaches = |layout, rate| {
                Sizing::within(layout, Request { rate: Some(rate), ..growing(first, most) })
            };
            for layout in LayoutId::of_tables(true) {
                let Err(error) = reaches(layout, rate) else { continue };
                let Error::RateOutOfReach { one_in, other: named, .. } = error else {
                    panic!("{layout:?}: {error:?}")
                };
                let better = 1.0 / one_in as f64;
                assert!(better > rate);
                let is_way_out = if let Some(name) = named {
                    layouts += 1;
                    let other =
                        LayoutId::of_tables(true).find(|other| other.name() == name).unwrap();
                    reaches(other, rate).is_ok() && reaches(layout, better).is_ok()
                } else {
                    rates += 1;
                    LayoutId::of_tables(true).all(|other| reaches(other, rate).is_err())
                        && LayoutId::of_tables(true).any(|other| reaches(other, better).is_ok())
                };
                assert!(is_way_out, "{layout:?}, {first} to {most}, {rate}: {error:?}");
            }
        }
        assert!(layouts > 100 && rates > 10, "{layouts}, {rates}");
    }

    #[test]
    fn a_maximum_below_the_first_capacity_is_an_error() {
        for (first, most) in [(1, 0), (100, 99), (u64::MAX, 1)] {
            let [capacity, max_capacity] = [first, most].map(in_address_space);
            let low = Some(Error::MaxCapacityTooLow { capacity, max_capacity });
            for rate in [None, Some(0.01)] {
                let request = Request { rate, ..growing(first, most) };
                let of_each =
                    LayoutId::of_tables(true).map(|layout| Sizing::within(layout, request).err());
                of_each
                    .chain([Sizing::smallest(request).err()])
                    .for_each(|error| assert_eq!(error, low));
            }
        }
    }

    #[test]
    fn a_share_is_the_nearest_number_of_thousandths() {
        assert_eq!([0.7494, 0.7496, 0.7504, 0.7506].map(thousandths), [749, 750, 750, 751]);
        assert!((0..=1000).all(|load| thousandths(share(load)) == load));
    }

    /// The range of loads in the error is that of the layout; if there are several, that of a layout that would be
    /// chosen with another load.
    #[test]
    fn loads_beyond_the_range_are_an_error() {
        let of = |load, rate| Request { target_load: Some(load), rate, ..growing(100, 10_000) };
        let range = |layout, max| Error::TargetLoadOutOfRange { layout, min: 500, max };
        for (load, is_in_range) in [(499, false), (500, true), (870, true), (871, false)] {
            let sizing = Sizing::within(Fp16x4, of(load, None));
            let expected = (!is_in_range).then_some(range("Fp16x4", 870));
            assert_eq!(sizing.err(), expected);
            assert_eq!(Sizing::smallest(of(load, None)).err(), expected);
        }
        for share in [f64::NAN, -1.0, f64::NEG_INFINITY, f64::INFINITY, 1e300] {
            assert!(Sizing::within(Fp16x4, of(thousandths(share), None)).is_err(), "{share}");
        }
        // With another load, Fp21x3 would reach the rate.
        assert_eq!(Sizing::smallest(of(850, Some(1e-4))).err(), Some(range("Fp21x3", 830)));
        let error = Sizing::within(Fp16x4, of(850, Some(1e-4))).err().unwrap();
        assert!(matches!(error, Error::RateOutOfReach { other: Some("Fp21x3"), .. }));
    }
}
