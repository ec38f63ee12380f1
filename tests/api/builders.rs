//! Builders: in no order of calls is an option ignored; and the figures that they state in advance are those of the
//! filter that they build.

use std::cell::Cell;
use std::panic;

use coucal::{
    Builder, CuckooFilter, CuckooMaplet, Error, ExpiringBuilder, ExpiringCuckooFilter, Figures,
    Fixed, Fp16x4, Fp32x2, Growable, GrowableCuckooFilter, GrowableCuckooMaplet,
    GrowableExpiringCuckooFilter, GrowingLayout, MapletBuilder, Snapshot, StableHashBuilder,
    Storage,
};
use coucal_reference::cases;
use coucal_reference::format::{self, Contents, HEADER, MOST_SLOTS};
use proptest::prelude::*;

use crate::common::{HASHER, Kind, LAYOUTS, Layout, widths};

/// What a builder builds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    Filter,
    Maplet,
    Expiring,
}

/// A call of a builder.
#[derive(Clone, Copy, Debug)]
enum Call {
    Capacity(usize),
    Rate(f64),
    Memory(usize),
    SnapshotBytes(usize),
    /// For an expiring filter: generations, 2 to the power of this number.
    ValueBits(u32),
    MaxCapacity(usize),
    TargetLoad(u32),
    Layout(Named),
    /// For a filter: copies per item.
    ValuesPerKey(u32),
}

/// How a builder got its layout: by type, by name, or any layout.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Named {
    Fp32x2,
    ByName(&'static str),
    Any,
}

/// The options that a test has set: the last call of each.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    capacity: Option<usize>,
    rate: Option<f64>,
    memory: Option<usize>,
    snapshot_bytes: Option<usize>,
    value_bits: Option<u32>,
    max_capacity: Option<usize>,
    grows: bool,
    target_load: Option<u32>,
    layout: Option<Named>,
    values_per_key: Option<u32>,
}

impl Asked {
    /// Whether the builder has this method.
    fn has(&self, call: Call, of: Type) -> bool {
        match call {
            Call::ValueBits(_) => of != Type::Filter,
            Call::MaxCapacity(_) | Call::TargetLoad(_) => self.grows,
            Call::ValuesPerKey(_) => !self.grows && of != Type::Expiring,
            Call::Layout(Named::ByName(name)) => !self.grows || Layout::named(name).grows(),
            _ => true,
        }
    }

    fn call(&mut self, call: Call) {
        match call {
            Call::Capacity(items) => self.capacity = Some(items),
            Call::Rate(rate) => self.rate = Some(rate),
            Call::Memory(bytes) => self.memory = Some(bytes),
            Call::SnapshotBytes(bytes) => self.snapshot_bytes = Some(bytes),
            Call::ValueBits(bits) => self.value_bits = Some(bits),
            Call::MaxCapacity(items) => self.max_capacity = Some(items),
            Call::TargetLoad(load) => self.target_load = Some(load),
            Call::Layout(layout) => self.layout = Some(layout),
            Call::ValuesPerKey(values) => self.values_per_key = Some(values),
        }
    }

    /// The layout that was named, or else the default one.
    fn layout_name(self) -> Option<&'static str> {
        match self.layout {
            Some(Named::ByName(name)) => Some(name),
            Some(Named::Fp32x2) => Some("Fp32x2"),
            Some(Named::Any) => None,
            None if self.grows && self.value_bits.is_some() => Some("Fp21x3"),
            None => Some("Fp16x4"),
        }
    }

    fn check(self, contents: &Contents, figures: Figures) {
        let geometry = &contents.geometry;
        assert!(self.layout_name().is_none_or(|name| name == geometry.layout.name));
        assert_eq!(geometry.layout.name, figures.layout_name);
        assert_eq!(geometry.grows, self.grows);
        assert_eq!(geometry.value_bits, self.value_bits.unwrap_or(0));
        let values_per_key = self.values_per_key.unwrap_or(1);
        assert_eq!(figures.values_per_key, values_per_key);
        assert!(values_per_key == 1 || !self.grows);
        let capacity = contents.capacity as usize;
        if self.memory.is_none() && self.snapshot_bytes.is_none() || self.grows {
            assert_eq!(capacity, self.capacity.unwrap_or(0));
        } else {
            assert!(self.capacity.is_none_or(|asked| asked == 0 || asked == capacity));
        }
        let max_capacity = usize::try_from(contents.max_capacity).unwrap_or(usize::MAX);
        assert!(self.max_capacity.is_none_or(|asked| asked == max_capacity));
        assert_eq!((figures.initial_capacity, figures.max_capacity), (capacity, max_capacity));
        assert!(self.target_load.is_none_or(|load| load == contents.load));
        assert!(self.memory.is_none_or(|bytes| figures.memory_bytes <= bytes));
        assert!(self.snapshot_bytes.is_none_or(|bytes| figures.snapshot_bytes <= bytes));
        let holds_rate = contents.max_capacity <= 1 << 40;
        assert!(self.rate.is_none_or(|rate| !holds_rate || figures.false_positive_rate <= rate));
    }

    /// Whether some option set a size.
    fn is_sized(self) -> bool {
        self.grows || [self.capacity, self.memory, self.snapshot_bytes].iter().any(Option::is_some)
    }

    /// Whether an option that was set asks for this error.
    fn is_asked_for(self, error: &Error) -> bool {
        match *error {
            Error::NoCapacity => !self.is_sized(),
            Error::InvalidRate => self.rate.is_some_and(|rate| !(rate > 0.0 && rate < 1.0)),
            Error::RateOutOfReach { one_in, other, .. } => {
                let may_be_better = self.layout != Some(Named::Any) || other.is_none();
                may_be_better && self.rate.is_some_and(|rate| rate < 1.0 / one_in as f64)
            }
            Error::TargetLoadOutOfRange { .. } => self.target_load.is_some(),
            Error::MaxCapacityTooLow { capacity, max_capacity, .. } => {
                self.capacity == Some(capacity) && self.max_capacity == Some(max_capacity)
            }
            Error::CapacityOverflow { capacity, .. } => {
                [self.capacity, self.max_capacity].contains(&Some(capacity))
            }
            Error::BudgetTooSmall { budget: "memory_bytes", bytes, needed, .. } => {
                self.memory == Some(bytes) && needed > bytes
            }
            Error::BudgetTooSmall { budget: "snapshot_bytes", bytes, needed, .. } => {
                self.snapshot_bytes == Some(bytes) && needed > bytes
            }
            Error::ValueBitsOutOfRange { value_bits, .. } => self.value_bits == Some(value_bits),
            Error::GenerationsOutOfRange { generations, .. } => {
                self.value_bits.is_some_and(|bits| generations == 1 << bits)
            }
            Error::ValuesPerKeyOutOfRange { values_per_key, .. } => {
                self.values_per_key == Some(values_per_key)
            }
            _ => false,
        }
    }
}

/// The contents of what was built, by its snapshot, and its figures when it is full.
type Built = Result<(Contents, Figures), Error>;

/// Compares a builder that builds a snapshot of a new filter and its memory with the figures of the builder.
fn built(
    build: impl FnOnce() -> Result<(Snapshot, usize), Error>,
    figures: &dyn Fn(usize) -> Result<Figures, Error>,
) -> Built {
    let (built, new) = (build(), figures(0));
    assert_eq!(built.as_ref().err(), new.as_ref().err());
    let ((snapshot, memory), new) = (built?, new?);
    let contents = format::read(snapshot.as_bytes()).expect("a snapshot");
    assert!(contents.geometry.grows || new.memory_bytes == memory, "{memory}: {new:?}");
    Ok((contents, figures(new.max_capacity)?))
}

/// Two functions that make these calls one after the other and then build: one for a builder of fixed size, and one for
/// a growing builder. A call may return a builder of another type, so the functions call themselves.
macro_rules! functions {
    ($fixed:ident $growing:ident $builder:ident $value_bits:path, $values_per_key:path) => {
        fn $fixed<L>(builder: $builder<Fixed<L>, StableHashBuilder>, calls: &[Call]) -> Built
        where
            L: GrowingLayout,
        {
            let Some((&call, rest)) = calls.split_first() else {
                let build = || {
                    let new = builder.clone().build()?;
                    Ok((new.snapshot()?, new.memory_bytes()))
                };
                return built(build, &|items| builder.figures(items));
            };
            match call {
                Call::Capacity(items) => $fixed(builder.capacity(items), rest),
                Call::Rate(rate) => $fixed(builder.false_positive_rate(rate), rest),
                Call::Memory(bytes) => $fixed(builder.memory_bytes(bytes), rest),
                Call::SnapshotBytes(bytes) => $fixed(builder.snapshot_bytes(bytes), rest),
                Call::ValueBits(bits) => $fixed($value_bits(builder, bits), rest),
                Call::MaxCapacity(_) | Call::TargetLoad(_) => unreachable!("only where it grows"),
                Call::ValuesPerKey(values) => $fixed($values_per_key(builder, values), rest),
                Call::Layout(Named::Fp32x2) => $fixed(builder.layout::<Fp32x2>(), rest),
                Call::Layout(Named::Any) => $fixed(builder.any_layout(), rest),
                Call::Layout(Named::ByName(name)) => {
                    $fixed(builder.layout_named(name).expect("its name"), rest)
                }
            }
        }

        fn $growing<L>(builder: $builder<Growable<L>, StableHashBuilder>, calls: &[Call]) -> Built
        where
            L: GrowingLayout,
        {
            let Some((&call, rest)) = calls.split_first() else {
                let build = || {
                    let new = builder.clone().build()?;
                    Ok((new.snapshot()?, new.memory_bytes()))
                };
                return built(build, &|items| builder.figures(items));
            };
            match call {
                Call::Capacity(items) => $growing(builder.capacity(items), rest),
                Call::Rate(rate) => $growing(builder.false_positive_rate(rate), rest),
                Call::Memory(bytes) => $growing(builder.memory_bytes(bytes), rest),
                Call::SnapshotBytes(bytes) => $growing(builder.snapshot_bytes(bytes), rest),
                Call::ValueBits(bits) => $growing($value_bits(builder, bits), rest),
                Call::MaxCapacity(items) => $growing(builder.max_capacity(items), rest),
                Call::ValuesPerKey(_) => unreachable!("only of fixed size"),
                Call::TargetLoad(load) => {
                    $growing(builder.target_load(f64::from(load) / 1000.0), rest)
                }
                Call::Layout(Named::Fp32x2) => $growing(builder.layout::<Fp32x2>(), rest),
                Call::Layout(Named::Any) => $growing(builder.any_layout(), rest),
                Call::Layout(Named::ByName(name)) => {
                    $growing(builder.layout_named(name).expect("its name"), rest)
                }
            }
        }
    };
}

functions!(filter growing_filter Builder no_values, Builder::copies_per_item);
functions!(maplet growing_maplet MapletBuilder MapletBuilder::value_bits, MapletBuilder::values_per_key);
functions!(expiring growing_expiring ExpiringBuilder generations, no_values);

fn no_values<B>(_: B, _: u32) -> B {
    unreachable!("neither values nor copies have a number")
}

fn generations<L: Storage, S>(builder: ExpiringBuilder<L, S>, bits: u32) -> ExpiringBuilder<L, S> {
    builder.generations(1 << bits)
}

fn build(of: Type, grows: bool, calls: &[Call]) -> Built {
    match (of, grows) {
        (Type::Filter, false) => filter(CuckooFilter::builder().hasher(HASHER), calls),
        (Type::Filter, true) => {
            growing_filter(GrowableCuckooFilter::builder().hasher(HASHER), calls)
        }
        (Type::Maplet, false) => maplet(CuckooMaplet::builder().hasher(HASHER), calls),
        (Type::Maplet, true) => {
            growing_maplet(GrowableCuckooMaplet::builder().hasher(HASHER), calls)
        }
        (Type::Expiring, false) => expiring(ExpiringCuckooFilter::builder().hasher(HASHER), calls),
        (Type::Expiring, true) => {
            growing_expiring(GrowableExpiringCuckooFilter::builder().hasher(HASHER), calls)
        }
    }
}

fn call() -> impl Strategy<Value = Call> {
    let items = || prop_oneof![Just(0), 1..2000_usize];
    let names = proptest::sample::select(LAYOUTS.map(|layout| layout.name).to_vec());
    let named = prop_oneof![Just(Named::Fp32x2), Just(Named::Any), names.prop_map(Named::ByName),];
    prop_oneof![
        items().prop_map(Call::Capacity),
        items().prop_map(Call::MaxCapacity),
        (-2..80_i32).prop_map(|tenths| Call::Rate(10_f64.powf(-f64::from(tenths) / 10.0))),
        (300..200_000_usize).prop_map(Call::Memory),
        (100..200_000_usize).prop_map(Call::SnapshotBytes),
        (1..12_u32).prop_map(Call::ValueBits),
        (480..900_u32).prop_map(Call::TargetLoad),
        named.prop_map(Call::Layout),
        (0..36_u32).prop_map(Call::ValuesPerKey),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..cases() })]

    /// The builder makes what the last call of each option asked for, or returns an error about an option that was set.
    #[test]
    fn no_option_is_ignored(
        of in proptest::sample::select(vec![Type::Filter, Type::Maplet, Type::Expiring]),
        grows: bool,
        bits in 1..7_u32,
        calls in proptest::collection::vec(call(), 0..9),
    ) {
        let mut asked = Asked { grows, ..Asked::default() };
        let first = (of != Type::Filter).then_some(Call::ValueBits(bits));
        let mut calls: Vec<Call> = first.into_iter().chain(calls).collect();
        calls.retain(|&call| {
            let has = asked.has(call, of);
            if has {
                asked.call(call);
            }
            has
        });
        match build(of, grows, &calls) {
            Ok((contents, full)) => {
                prop_assert!(asked.is_sized());
                asked.check(&contents, full);
            }
            Err(error) => prop_assert!(asked.is_asked_for(&error), "{asked:?}: {error:?}"),
        }
    }
}

/// Returns the figures of a kind for a number of items: of a builder for this number, from 0 on if it grows, and of a
/// builder with this memory.
fn figures_of(
    kind: Kind,
    most: usize,
    memory: Option<usize>,
) -> Box<dyn Fn(usize) -> Result<Figures, Error>> {
    macro_rules! figures {
        ($builder:expr, $most:ident) => {{
            let mut builder = $builder;
            if let Some(bytes) = memory {
                builder = builder.memory_bytes(bytes);
            }
            if kind.grows || most > 0 || memory.is_none() {
                builder = builder.$most(most);
            }
            Box::new(move |items| builder.figures(items))
        }};
    }
    match (kind.value_bits, kind.grows) {
        (0, false) => figures!(kind.layout.filters(), capacity),
        (0, true) => figures!(kind.layout.growing_filters(), max_capacity),
        (bits, false) => figures!(kind.layout.maplets(bits), capacity),
        (bits, true) => figures!(kind.layout.growing_maplets(bits), max_capacity),
    }
}

thread_local! {
    /// The file in which the panic occurred that this thread waits for; `None` while it waits for none.
    static PANICKED_IN: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// A constructor that panics reports the line of its call, not the line in the crate where it failed.
#[test]
fn a_panic_of_a_constructor_names_the_line_of_its_call() {
    let constructors: [fn(); 16] = [
        || drop(CuckooFilter::with_capacity(usize::MAX)),
        || drop(CuckooFilter::with_capacity_and_hasher(usize::MAX, HASHER)),
        || drop(CuckooMaplet::with_capacity(100, 11)),
        || drop(CuckooMaplet::with_capacity_and_hasher(100, 11, HASHER)),
        || drop(GrowableCuckooMaplet::new(10)),
        || drop(GrowableCuckooMaplet::with_hasher(10, HASHER)),
        || drop(ExpiringCuckooFilter::with_capacity(100, 1)),
        || drop(ExpiringCuckooFilter::with_capacity_and_hasher(100, 257, HASHER)),
        || drop(GrowableExpiringCuckooFilter::new(1)),
        || drop(GrowableExpiringCuckooFilter::with_hasher(257, HASHER)),
        || drop(GrowableCuckooFilter::with_capacity(usize::MAX)),
        || drop(GrowableCuckooFilter::with_capacity_and_hasher(usize::MAX, HASHER)),
        || drop(GrowableCuckooMaplet::with_capacity(100, 15)),
        || drop(GrowableCuckooMaplet::with_capacity_and_hasher(100, 15, HASHER)),
        || drop(GrowableExpiringCuckooFilter::with_capacity(100, 1)),
        || drop(GrowableExpiringCuckooFilter::with_capacity_and_hasher(100, 257, HASHER)),
    ];
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if PANICKED_IN.get().is_none() {
            // The panic of another test.
            return print(panic);
        }
        let is_here = panic.location().is_some_and(|location| location.file() == file!());
        PANICKED_IN.set(Some(if is_here { file!() } else { "another file" }));
    }));
    for (number, construct) in constructors.into_iter().enumerate() {
        PANICKED_IN.set(Some("no file"));
        assert!(panic::catch_unwind(construct).is_err(), "constructor {number}");
        let file = PANICKED_IN.take();
        assert_eq!(file, Some(file!()), "constructor {number}");
    }
}

/// The figures of a builder are those of a new filter, and of one that has grown to its maximum.
#[test]
fn figures_are_those_of_what_is_built() {
    for kind in LAYOUTS.into_iter().flat_map(|layout| Kind::all(layout, widths)) {
        for most in [0, 1, 10, 1000, 30_000] {
            let (figures, built) = (figures_of(kind, most, None), kind.build(0, most));
            let [new, full] = [0, most].map(|items| figures(items).unwrap());
            let (grows, wanted, holds) = match figures(most + 1) {
                Err(Error::AboveMaxCapacity { wanted, max_capacity, .. }) => {
                    (true, wanted, max_capacity)
                }
                Err(Error::AboveCapacity { wanted, capacity, .. }) => (false, wanted, capacity),
                other => panic!("{other:?}"),
            };
            assert_eq!((grows, wanted, holds), (kind.grows, most + 1, most));
            let contents = built.contents();
            assert_eq!((new.layout_name, new.max_capacity), (kind.layout.name, most));
            assert_eq!(
                (new.initial_capacity, contents.max_capacity),
                (contents.capacity as usize, most as u64)
            );
            assert!(new.bits_per_item.is_infinite() && new.false_positive_rate.abs() == 0.0);
            let of_new = built.heap_bytes() + size_of_val(&*built);
            let check = |figures: Figures| {
                // The figures leave out what the stash takes.
                let is_stashed = built.stashed().0 > 0;
                let bytes =
                    if kind.grows { built.heap_bytes() + size_of_val(&*built) } else { of_new };
                // A small table becomes four times as long at once.
                let share = if bytes < 40_000 { 3 * bytes } else { bytes / 3 };
                let (spare, of_values) = match (kind.grows, kind.value_bits) {
                    (false, _) => (0, 0),
                    (true, 0) => (share, 0),
                    // The counts of doubled entries, as growth.md says.
                    (true, bits) => (share, 48 << bits),
                };
                let least = bytes.saturating_sub(of_values);
                let least = if is_stashed && kind.grows { of_new } else { least };
                let is_said = (least..=bytes + spare).contains(&figures.memory_bytes);
                assert!(is_said, "{kind:?} for {most}: {figures:?}, {bytes} bytes");
                // In a growing table, fewer buckets may be split than it may have.
                let doubled = if kind.value_bits == 0 { 0 } else { 24 << kind.value_bits };
                let (snapshot, stashed) = (built.bytes().len(), 16 * built.stashed().0);
                let said = figures.snapshot_bytes + stashed;
                let least = if kind.grows { figures.snapshot_bytes / 2 } else { said };
                let most = if kind.grows { said + doubled } else { said };
                assert!((least..=most).contains(&snapshot), "{kind:?}: {snapshot}, {figures:?}");
            };
            check(new);
            for part in kind.items(1, most).chunks(most.div_ceil(50).max(1)) {
                built.insert_many(part).unwrap();
                check(figures(built.len()).unwrap());
            }
            check(full);
            let rate = built.false_positive_rate();
            assert!(
                (full.false_positive_rate - rate).abs() <= rate / 5.0,
                "{kind:?}: {rate}, {full:?}"
            );
        }
    }
}

/// The load of the figures is the number of items per slot of a filter that was filled with them: exactly if it has a
/// fixed size. For a growing filter the figures allow for more slots than it mostly has.
#[test]
fn the_load_of_the_figures_is_that_of_a_filled_filter() {
    let most = 30_000;
    let kinds = LAYOUTS.into_iter().flat_map(|layout| Kind::each(layout, 8));
    for kind in kinds.filter(|kind| !kind.grows || kind.value_bits == 0) {
        let (figures, built) = (figures_of(kind, most, None), kind.build(0, most));
        for part in kind.items(1, most).chunks(most / 10) {
            built.insert_many(part).unwrap();
            let said = figures(built.len()).unwrap().load_factor;
            let load = built.len() as f64 / built.slots() as f64;
            println!("{kind:?}: {said:.4}, in fact {load:.4}");
            let possible = if kind.grows { said - 0.01..=said + 0.06 } else { said..=said };
            assert!(possible.contains(&load), "{said}, not {load}: {built:?}");
        }
    }
}

/// The figures are right whatever the size with which growth begins: also if its buckets are for fewer stripes than
/// those for which memory is allocated.
#[test]
fn figures_of_growth_from_any_size() {
    for first in (0..32_000).step_by(1000) {
        let builder = GrowableCuckooFilter::builder().capacity(first).max_capacity(60_000);
        let filter = builder.clone().hasher(StableHashBuilder::new(7)).build().unwrap();
        for items in (1000..=60_000).step_by(1000) {
            filter.insert_all(items - 1000..items).unwrap();
            let said = builder.figures(items).unwrap().memory_bytes;
            let is_stashed = filter.stats().stashed_entries > 0;
            assert!(is_stashed || filter.memory_bytes() <= said, "{first}: {items}, {said}");
        }
    }
}

/// The figures are right also if a filter reserves room for many items at once, and for a clone that grows.
#[test]
fn figures_of_growth_after_a_reserve() {
    for (max_capacity, step) in [(1429, 20), (60_000, 100)] {
        let builder = GrowableCuckooFilter::builder().max_capacity(max_capacity);
        for reserved in (0..max_capacity.min(6000)).step_by(step) {
            let filter = builder.clone().hasher(StableHashBuilder::new(7)).build().unwrap();
            filter.reserve(reserved).unwrap();
            filter.insert_all(0..reserved).unwrap();
            for items in (reserved..max_capacity.min(reserved + 2000) - step).step_by(step) {
                filter.insert_all(items..items + step).unwrap();
                let clone = filter.try_clone().unwrap();
                clone.insert_all(items + step..max_capacity.min(items + 2 * step)).unwrap();
                for filter in [&filter, &clone] {
                    let said = builder.figures(filter.len()).unwrap().memory_bytes;
                    let is_stashed = filter.stats().stashed_entries > 0;
                    assert!(is_stashed || filter.memory_bytes() <= said, "{reserved}: {items}");
                }
            }
        }
    }
}

/// A filter has the maximum number of items that its budget allows: for one more item it would need more memory than
/// the budget. The error names the smallest budget.
#[test]
fn a_budget_is_used_up() {
    for kind in LAYOUTS.into_iter().flat_map(|layout| Kind::each(layout, 3)) {
        for bytes in [100, 2000, 50_000, 1_000_000, 20_000_000] {
            let within = |bytes| figures_of(kind, 0, Some(bytes));
            match within(bytes)(0) {
                // For a growing filter, the maximum is given already.
                Ok(_) if kind.grows => {}
                Ok(Figures { initial_capacity: capacity, .. }) => {
                    assert!(within(bytes)(capacity).unwrap().memory_bytes <= bytes);
                    let one_more = figures_of(kind, capacity + 1, None)(0).unwrap();
                    assert!(one_more.memory_bytes > bytes, "{kind:?} in {bytes}: {capacity}");
                }
                Err(Error::BudgetTooSmall { budget, bytes: asked, needed, .. }) => {
                    assert_eq!(budget, "memory_bytes");
                    assert!(asked == bytes && needed > bytes && bytes < 100_000, "{needed}");
                    assert_eq!(
                        [needed - 1, needed].map(|least| within(least)(0).is_ok()),
                        [false, true]
                    );
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    // The number of items follows from the bytes of a snapshot. If memory is bounded as well, the narrower bound
    // counts.
    for bytes in [400, 1232, 40_000] {
        let builder = CuckooFilter::builder().snapshot_bytes(bytes);
        let most = builder.figures(0).unwrap().initial_capacity;
        assert!(builder.figures(most).unwrap().snapshot_bytes <= bytes);
        let one_more = CuckooFilter::builder().capacity(most + 1).figures(0).unwrap();
        assert!(one_more.snapshot_bytes > bytes, "{bytes}: {most}");
        let both = |memory| builder.clone().memory_bytes(memory).figures(0);
        assert_eq!(both(1 << 20).unwrap().initial_capacity, most);
        let needed = builder.figures(0).unwrap().memory_bytes;
        assert!(both(needed - 1).map_or(0, |figures| figures.initial_capacity) < most);
        assert_eq!(both(needed).unwrap().initial_capacity, most);
    }
    // A rate that the smallest table of the layout exceeds, and a larger one keeps.
    for bytes in [20_000, 1 << 20] {
        let builder = CuckooFilter::builder().false_positive_rate(0.000_12);
        let builders = [builder.clone().memory_bytes(bytes), builder.clone().snapshot_bytes(bytes)];
        for within in builders {
            let most = within.figures(0).unwrap().initial_capacity;
            assert!(most > 1000 && builder.clone().capacity(most).figures(most).is_ok());
        }
    }
    // No item is a number of items, too.
    let none = CuckooFilter::builder().capacity(0);
    let within = none.clone().memory_bytes(1 << 20).figures(0).unwrap();
    assert_eq!(within.memory_bytes, none.figures(0).unwrap().memory_bytes);
    let error = CuckooFilter::builder().snapshot_bytes(100).figures(0).unwrap_err();
    let is_named =
        matches!(error, Error::BudgetTooSmall { budget: "snapshot_bytes", bytes: 100, .. });
    assert!(is_named && error.to_string().contains("raise `snapshot_bytes`"), "{error:?}");
    // For a growing filter, the maximum follows from the budget, also if growth begins with a capacity.
    for first in [0, 1000, 100_000] {
        let builder = || GrowableCuckooFilter::builder().capacity(first);
        let within = builder().memory_bytes(1 << 26);
        let most = within.figures(0).unwrap().max_capacity;
        assert!(within.figures(most).unwrap().memory_bytes <= 1 << 26);
        let one_more = builder().max_capacity(most + 1).figures(most + 1).unwrap();
        assert!(one_more.memory_bytes > 1 << 26, "{first} to {most}: {one_more:?}");
    }
}

/// Where growth soon ends, memory falls at some numbers of pairs: from there on, the maplet begins with more buckets,
/// and grows in fewer steps. A budget is used up also if it has room for pairs beyond such a number.
#[test]
fn a_budget_is_used_up_where_memory_falls() {
    for (name, value_bits) in [("Fp16x4", 10), ("Fp12x5", 6)] {
        let builder = || Layout::named(name).growing_maplets(value_bits);
        let needed = |most: usize| {
            let figures = builder().max_capacity(most).figures(most).unwrap();
            [figures.memory_bytes, figures.snapshot_bytes]
        };
        let needed: Vec<[usize; 2]> = (0..16_000).map(needed).collect();
        assert!(needed.windows(2).any(|two| two[0][0] > two[1][0]), "memory always rises");
        for bytes in (2000..8000).step_by(100) {
            let builders = [builder().memory_bytes(bytes), builder().snapshot_bytes(bytes)];
            for (budget, builder) in builders.into_iter().enumerate() {
                let found = builder.figures(0).unwrap().max_capacity;
                let most = needed.iter().rposition(|needed| needed[budget] <= bytes).unwrap();
                assert_eq!(found, most, "{name}: {bytes} bytes");
                assert!(3 * most < needed.len());
            }
        }
    }
}

/// The largest budget is a limit, too, where an address has 32 bits.
#[test]
fn the_largest_budgets() {
    let (fixed, growing) = (CuckooFilter::builder, GrowableCuckooFilter::builder);
    for figures in [
        fixed().memory_bytes(usize::MAX).figures(0).unwrap(),
        fixed().snapshot_bytes(usize::MAX).figures(0).unwrap(),
        growing().memory_bytes(usize::MAX).figures(0).unwrap(),
        growing().snapshot_bytes(usize::MAX).figures(0).unwrap(),
    ] {
        // Each item takes more than two bytes.
        assert!(figures.max_capacity <= usize::MAX / 2, "{figures:?}");
    }
}

/// Where growth soon ends, the largest maplets begin with nearly as many slots as a table may have, and not with more.
#[test]
#[cfg(target_pointer_width = "64")]
fn figures_of_the_largest_maplets() {
    let builder = GrowableCuckooMaplet::builder().value_bits(10).layout::<Fp16x4>();
    for trillions in 1..14 {
        let most = trillions * 1_000_000_000_000;
        for items in [0, most] {
            let figures = builder.clone().max_capacity(most).figures(items).unwrap();
            let slots = (figures.snapshot_bytes - HEADER - 8) / 8 * 4;
            assert!(slots as u64 <= MOST_SLOTS, "{items} of {most}: {slots}");
        }
    }
}

/// The page about growth promises: the bits per item of its table, and from a million to a thousand million items up to
/// a twentieth more, or a seventh in `Fp12x5`. In the default layout it is a twentieth at larger sizes, too.
#[test]
fn memory_of_an_item_where_a_filter_grows() {
    let end = usize::MAX >> 24;
    for (name, more, end) in [
        ("Fp12x5", 1.0 / 7.0, end.min(1_000_000_000)),
        ("Fp16x4", 0.05, end),
        ("Fp21x3", 0.05, end.min(1_000_000_000)),
        ("Fp32x2", 0.05, end.min(1_000_000_000)),
    ] {
        let builder = GrowableCuckooFilter::builder().layout_named(name).unwrap();
        let layout = Layout::named(name);
        let bits = 64.0 / layout.slots as f64 / layout.target();
        let sizes = std::iter::successors(Some(1_000_000_usize), |items| Some(items + items / 100));
        for items in sizes.take_while(|&items| items <= end) {
            let found = builder.figures(items).unwrap().bits_per_item;
            let promised = 0.9985 * bits..bits * (1.0 + more);
            assert!(promised.contains(&found), "{name}: {found} with {items}");
        }
    }
}
