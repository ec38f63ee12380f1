//! Builders: no option is ignored, in no order of calls; and what they say beforehand is what is built.

use coucal::{
    AnyLayout, Builder, CuckooFilter, CuckooMaplet, Error, Figures, Fp8x8, Fp16x4, Fp32x2,
    Growable, MapletBuilder, StableHashBuilder,
};
use coucal_reference::{Held, boxed, cases};
use proptest::prelude::*;

use crate::common::{Filter, HASHER, Kind, LAYOUTS, Maplet, Subject, widths};

/// A call of a builder.
#[derive(Clone, Copy, Debug)]
enum Call {
    Capacity(usize),
    Rate(f64),
    Memory(usize),
    ValueBits(u32),
    MaxCapacity(usize),
    Growable,
    TargetLoad(u32),
    Layout(Named),
}

/// By type, by name, or any.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Named {
    Fp8x8,
    Fp16x4,
    Fp32x2,
    ByName(&'static str),
    Any,
}

/// What was asked for: of each option the last call.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    capacity: Option<usize>,
    rate: Option<f64>,
    memory: Option<usize>,
    value_bits: Option<u32>,
    max_capacity: Option<usize>,
    grows: bool,
    target_load: Option<u32>,
    layout: Option<Named>,
}

impl Asked {
    fn call(&mut self, call: Call) {
        match call {
            Call::Capacity(items) => self.capacity = Some(items),
            Call::Rate(rate) => self.rate = Some(rate),
            Call::Memory(bytes) => self.memory = Some(bytes),
            Call::ValueBits(bits) => self.value_bits = Some(bits),
            Call::MaxCapacity(items) => (self.max_capacity, self.grows) = (Some(items), true),
            Call::Growable => self.grows = true,
            Call::TargetLoad(load) => self.target_load = Some(load),
            Call::Layout(layout) => self.layout = Some(layout),
        }
    }

    /// One call for each option.
    fn calls(self) -> Vec<Call> {
        let all = [
            self.layout.map(Call::Layout),
            self.capacity.map(Call::Capacity),
            self.rate.map(Call::Rate),
            self.memory.map(Call::Memory),
            self.value_bits.map(Call::ValueBits),
            (self.grows && self.max_capacity.is_none()).then_some(Call::Growable),
            self.max_capacity.map(Call::MaxCapacity),
            self.target_load.map(Call::TargetLoad),
        ];
        all.into_iter().flatten().collect()
    }

    /// The layout that was named; of a filter the default one, if none was.
    fn layout_name(self) -> Option<&'static str> {
        match self.layout {
            Some(Named::ByName(name)) => Some(name),
            Some(Named::Fp8x8) => Some("Fp8x8"),
            Some(Named::Fp32x2) => Some("Fp32x2"),
            Some(Named::Any) => None,
            // The values choose that of a maplet that grows.
            None if self.grows && self.value_bits.is_some() => None,
            Some(Named::Fp16x4) | None => Some("Fp16x4"),
        }
    }

    fn check(self, subject: &dyn Subject, figures: Figures) {
        let contents = subject.contents();
        let geometry = &contents.geometry;
        assert!(self.layout_name().is_none_or(|name| name == geometry.layout.name));
        assert_eq!(geometry.layout.name, figures.layout_name);
        assert_eq!(geometry.grows, self.grows);
        assert_eq!(geometry.value_bits, self.value_bits.unwrap_or(0));
        let capacity = contents.capacity as usize;
        if self.memory.is_none() || self.grows {
            assert_eq!(capacity, self.capacity.unwrap_or(0));
        } else {
            assert!(self.capacity.is_none_or(|asked| asked == 0 || asked == capacity));
        }
        let max_capacity = usize::try_from(contents.max_capacity).unwrap_or(usize::MAX);
        assert!(self.max_capacity.is_none_or(|asked| asked == max_capacity));
        assert_eq!((figures.capacity, figures.max_capacity), (capacity, max_capacity));
        assert!(self.target_load.is_none_or(|load| load == contents.load));
        assert!(self.memory.is_none_or(|bytes| figures.memory_bytes <= bytes));
        let holds_rate = contents.max_capacity <= 1 << 40;
        assert!(self.rate.is_none_or(|rate| !holds_rate || figures.false_positive_rate <= rate));
    }

    /// Whether this is an error that somebody asked for.
    fn is_sized(self) -> bool {
        self.grows || self.capacity.is_some() || self.memory.is_some()
    }

    fn is_asked_for(self, error: &Error) -> bool {
        match *error {
            Error::NoCapacity => !self.is_sized(),
            Error::InvalidRate => self.rate.is_some_and(|rate| !(rate > 0.0 && rate < 1.0)),
            Error::RateOutOfReach { one_in, .. } => {
                self.rate.is_some_and(|rate| rate < 1.0 / one_in as f64)
            }
            Error::TargetLoadOutOfRange { .. } => self.target_load.is_some(),
            Error::MaxCapacityTooLow { capacity, max_capacity } => {
                self.capacity == Some(capacity) && self.max_capacity == Some(max_capacity)
            }
            Error::CapacityOverflow { capacity } => {
                [self.capacity, self.max_capacity].contains(&Some(capacity))
            }
            Error::BudgetTooSmall { bytes, needed } => self.memory == Some(bytes) && needed > bytes,
            Error::ValueBitsOutOfRange { value_bits, .. } => self.value_bits == Some(value_bits),
            Error::NoSuchLayout { grows: true } => {
                let grows =
                    |name| LAYOUTS.iter().any(|layout| layout.name == name && layout.grows());
                self.grows && self.layout_name().is_some_and(|name| !grows(name))
            }
            _ => false,
        }
    }
}

/// A builder of some type.
trait Build {
    /// `Err`: it has no such call.
    fn call(self: Box<Self>, call: Call) -> Result<Box<dyn Build>, Box<dyn Build>>;
    fn figures(&self, items: usize) -> Result<Figures, Error>;
    fn build(self: Box<Self>) -> Result<Box<dyn Subject>, Error>;
}

/// What the builders of all types have.
macro_rules! build {
    ($($builder:ident)*) => {
        $(impl<L: Held> Build for $builder<L, StableHashBuilder>
        where
            Self: More,
        {
            fn call(self: Box<Self>, call: Call) -> Result<Box<dyn Build>, Box<dyn Build>> {
                match call {
                    Call::Capacity(items) => Ok(Box::new(self.capacity(items))),
                    Call::Rate(rate) => Ok(Box::new(self.false_positive_rate(rate))),
                    Call::Memory(bytes) => Ok(Box::new(self.memory_bytes(bytes))),
                    call => self.more(call),
                }
            }
            fn figures(&self, items: usize) -> Result<Figures, Error> {
                self.figures(items)
            }
            fn build(self: Box<Self>) -> Result<Box<dyn Subject>, Error> {
                boxed(|| (*self).build())
            }
        })*
    };
}

build!(Builder MapletBuilder);

/// The calls that not all builders have.
trait More: Sized {
    fn more(self, call: Call) -> Result<Box<dyn Build>, Box<dyn Build>>;
}

macro_rules! more {
    ($builder:ident $values:ident) => {
        more!(@fixed $builder $values may_grow Fp16x4 Fp32x2 AnyLayout);
        more!(@fixed $builder $values stays Fp8x8);
        more!(@growing $builder $values Fp16x4 Fp32x2 AnyLayout);
    };
    (@fixed $builder:ident $values:ident $growth:ident $($layout:ident)*) => {
        $(impl More for $builder<$layout, StableHashBuilder> {
            fn more(self, call: Call) -> Result<Box<dyn Build>, Box<dyn Build>> {
                match call {
                    Call::ValueBits(bits) => $values!(self, bits),
                    Call::Layout(Named::Fp8x8) => Ok(Box::new(self.layout::<Fp8x8>())),
                    Call::Layout(Named::Fp16x4) => Ok(Box::new(self.layout::<Fp16x4>())),
                    Call::Layout(Named::Fp32x2) => Ok(Box::new(self.layout::<Fp32x2>())),
                    Call::Layout(Named::Any) => Ok(Box::new(self.any_layout())),
                    Call::Layout(Named::ByName(name)) => {
                        Ok(Box::new(self.layout_named(name).expect("its name")))
                    }
                    call => $growth!(self, call),
                }
            }
        })*
    };
    (@growing $builder:ident $values:ident $($layout:ident)*) => {
        $(impl More for $builder<Growable<$layout>, StableHashBuilder> {
            fn more(self, call: Call) -> Result<Box<dyn Build>, Box<dyn Build>> {
                match call {
                    Call::ValueBits(bits) => $values!(self, bits),
                    Call::Layout(Named::Fp16x4) => Ok(Box::new(self.layout::<Fp16x4>())),
                    Call::Layout(Named::Fp32x2) => Ok(Box::new(self.layout::<Fp32x2>())),
                    Call::Layout(Named::Any) => Ok(Box::new(self.any_layout())),
                    Call::Layout(Named::ByName(name)) => match self.clone().layout_named(name) {
                        Ok(named) => Ok(Box::new(named)),
                        Err(_) => Err(Box::new(self)),
                    },
                    Call::MaxCapacity(items) => Ok(Box::new(self.max_capacity(items))),
                    Call::TargetLoad(load) => {
                        Ok(Box::new(self.target_load(f64::from(load) / 1000.0)))
                    }
                    _ => Err(Box::new(self)),
                }
            }
        })*
    };
}

macro_rules! may_grow {
    ($builder:ident, $call:ident) => {
        match $call {
            Call::MaxCapacity(items) => Ok(Box::new($builder.max_capacity(items))),
            Call::Growable => Ok(Box::new($builder.growable())),
            _ => Err(Box::new($builder)),
        }
    };
}

macro_rules! stays {
    ($builder:ident, $call:ident) => {{
        let _ = $call;
        Err(Box::new($builder))
    }};
}

macro_rules! no_values {
    ($builder:ident, $bits:ident) => {{
        let _ = $bits;
        Err(Box::new($builder))
    }};
}

macro_rules! values {
    ($builder:ident, $bits:ident) => {
        Ok(Box::new($builder.value_bits($bits)))
    };
}

more!(Builder no_values);
more!(MapletBuilder values);

fn builder(is_maplet: bool) -> Box<dyn Build> {
    if is_maplet {
        Box::new(CuckooMaplet::builder().hasher(HASHER))
    } else {
        Box::new(CuckooFilter::builder().hasher(HASHER))
    }
}

fn call() -> impl Strategy<Value = Call> {
    let items = || prop_oneof![Just(0), 1..2000_usize];
    let names = proptest::sample::select(LAYOUTS.map(|layout| layout.name).to_vec());
    let named = prop_oneof![
        Just(Named::Fp8x8),
        Just(Named::Fp16x4),
        Just(Named::Fp32x2),
        Just(Named::Any),
        names.prop_map(Named::ByName),
    ];
    prop_oneof![
        items().prop_map(Call::Capacity),
        items().prop_map(Call::MaxCapacity),
        (5..80_u32).prop_map(|tenths| Call::Rate(10_f64.powf(-f64::from(tenths) / 10.0))),
        (300..200_000_usize).prop_map(Call::Memory),
        (1..12_u32).prop_map(Call::ValueBits),
        Just(Call::Growable),
        (480..900_u32).prop_map(Call::TargetLoad),
        named.prop_map(Call::Layout),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..cases() })]

    /// What is built is what was asked for last, or there is an error of something that was asked for. Once for each
    /// option, in another order, it is the same.
    #[test]
    fn no_option_is_ignored(
        is_maplet: bool,
        bits in 1..7_u32,
        calls in proptest::collection::vec(call(), 0..9),
    ) {
        let mut asked = Asked::default();
        let mut built = builder(is_maplet);
        let first = is_maplet.then_some(Call::ValueBits(bits));
        for call in first.into_iter().chain(calls) {
            built = match built.call(call) {
                Ok(built) => {
                    asked.call(call);
                    built
                }
                Err(built) => built,
            };
        }
        let again = asked.calls().into_iter().fold(builder(is_maplet), |builder, call| {
            builder.call(call).unwrap_or_else(|_| panic!("no call {call:?}"))
        });
        let figures = built.figures(0);
        prop_assert_eq!(figures.clone().map(|figures| figures.max_capacity), again.figures(0).map(|figures| figures.max_capacity));
        match built.build() {
            Ok(subject) => {
                prop_assert!(asked.is_sized());
                let most = figures.unwrap().max_capacity;
                asked.check(&*subject, again.figures(most).unwrap());
                let same = again.build().unwrap();
                prop_assert!(same.bytes() == subject.bytes(), "{:?}", asked);
            }
            Err(error) => {
                prop_assert!(asked.is_asked_for(&error), "{:?}: {:?}", asked, error);
                prop_assert_eq!(figures.err(), Some(error.clone()));
                prop_assert_eq!(again.build().err(), Some(error));
            }
        }
    }
}

/// The builder of a kind for this number of items, from 0 on if it grows; and the size of what it builds.
fn of_kind(kind: Kind, most: usize) -> (Box<dyn Build>, usize) {
    let (filters, maplets) = (kind.layout.filters(), kind.layout.maplets(kind.value_bits));
    match (kind.value_bits, kind.grows) {
        (0, false) => (Box::new(filters.capacity(most)), size_of::<Filter>()),
        (0, true) => {
            (Box::new(filters.max_capacity(most)), size_of::<Filter<Growable<AnyLayout>>>())
        }
        (_, false) => (Box::new(maplets.capacity(most)), size_of::<Maplet>()),
        (_, true) => {
            (Box::new(maplets.max_capacity(most)), size_of::<Maplet<Growable<AnyLayout>>>())
        }
    }
}

/// New, and after growth to the maximum.
#[test]
fn figures_are_those_of_what_is_built() {
    for kind in LAYOUTS.into_iter().flat_map(|layout| Kind::all(layout, widths)) {
        for most in [0, 1, 10, 1000, 30_000] {
            let (builder, itself) = of_kind(kind, most);
            let all: Vec<_> = (0..=most).map(|items| builder.figures(items).unwrap()).collect();
            let figures = |items: usize| all[items];
            let [new, full] = [0, most].map(figures);
            let above = Error::AboveMaxCapacity { wanted: most + 1, max_capacity: most };
            assert_eq!(builder.figures(most + 1), Err(above));
            let built = builder.build().unwrap();
            let contents = built.contents();
            assert_eq!((new.layout_name, new.max_capacity), (kind.layout.name, most));
            assert_eq!(
                (new.capacity, contents.max_capacity),
                (contents.capacity as usize, most as u64)
            );
            assert!(new.bits_per_item.is_infinite() && new.false_positive_rate.abs() == 0.0);
            let is_said = |figures: Figures| {
                let bytes = built.heap_bytes() + itself;
                // A small table becomes four times as long at once.
                let share = if bytes < 40_000 { 3 * bytes } else { bytes / 3 };
                let spare = if kind.grows { share } else { 0 };
                let of_values =
                    if kind.grows && kind.value_bits > 0 { 32 << kind.value_bits } else { 0 };
                (bytes.saturating_sub(of_values)..=bytes + spare).contains(&figures.memory_bytes)
            };
            assert!(is_said(new), "{kind:?} for {most}: {new:?} {}", built.heap_bytes());
            // On the way.
            for part in kind.items(1, most).chunks(most.div_ceil(50).max(1)) {
                built.insert_many(part).unwrap();
                let said = figures(built.len());
                assert!(
                    built.stashed().0 > 0 || is_said(said),
                    "{kind:?} for {most}: {said:?} {}",
                    built.heap_bytes()
                );
            }
            assert!(
                built.stashed().0 > 0 || is_said(full),
                "{kind:?} for {most}: {full:?} {}",
                built.heap_bytes()
            );
            let rate = built.false_positive_rate();
            assert!(
                (full.false_positive_rate - rate).abs() <= rate / 5.0,
                "{kind:?}: {rate}, {full:?}"
            );
        }
    }
}

/// Whatever the size with which growth begins: also where its buckets are for fewer stripes than the memory that they get.
#[test]
fn figures_of_growth_from_any_size() {
    for first in (0..32_000).step_by(1000) {
        let builder = CuckooFilter::builder().capacity(first).max_capacity(60_000);
        let filter = builder.clone().hasher(StableHashBuilder::new(7)).build().unwrap();
        for items in (1000..=60_000).step_by(1000) {
            filter.insert_all(items - 1000..items).unwrap();
            let said = builder.figures(items).unwrap().memory_bytes;
            let is_stashed = filter.stats().stashed_entries > 0;
            assert!(is_stashed || filter.memory_bytes() <= said, "{first}: {items}, {said}");
        }
    }
}

/// The most items that there is room for: for one more, more memory is needed than there may be. The least budget is
/// named.
#[test]
fn a_budget_is_used_up() {
    for kind in LAYOUTS.into_iter().flat_map(|layout| Kind::each(layout, 3)) {
        for bytes in [100, 2000, 50_000, 1_000_000, 20_000_000] {
            let (builder, _) = of_kind(kind, 0);
            // Of what grows, the maximum is given already.
            let Ok(builder) = builder.call(Call::Memory(bytes)) else { panic!("all have it") };
            let figures = match builder.figures(0) {
                Ok(figures) => figures,
                Err(Error::BudgetTooSmall { bytes: asked, needed }) => {
                    assert!(asked == bytes && needed > bytes && bytes < 100_000, "{needed}");
                    for (budget, fits) in [(needed - 1, false), (needed, true)] {
                        let Ok(builder) = of_kind(kind, 0).0.call(Call::Memory(budget)) else {
                            panic!("all have it")
                        };
                        assert_eq!(builder.figures(0).is_ok(), fits);
                    }
                    continue;
                }
                Err(error) => panic!("{error:?}"),
            };
            if kind.grows {
                continue;
            }
            let full = builder.figures(figures.capacity).unwrap();
            assert!(full.memory_bytes <= bytes);
            let one_more = of_kind(kind, figures.capacity + 1).0.figures(0).unwrap();
            assert!(one_more.memory_bytes > bytes, "{kind:?} in {bytes}: {figures:?}");
        }
    }
    let builder = CuckooFilter::builder().growable().memory_bytes(1 << 26);
    let most = builder.figures(0).unwrap().max_capacity;
    assert!(builder.figures(most).unwrap().memory_bytes <= 1 << 26);
    let one_more = CuckooFilter::builder().max_capacity(most + 1).figures(most + 1).unwrap();
    assert!(one_more.memory_bytes > 1 << 26, "{most}: {one_more:?}");
}

/// As the documentation of the crate says: 21.3 bits for an item in the default layout, and from a million items on up to
/// a twentieth more.
#[test]
fn memory_of_an_item_where_a_filter_grows() {
    let builder = CuckooFilter::builder().growable();
    let sizes = std::iter::successors(Some(1_000_000_usize), |items| Some(items + items / 100));
    for items in sizes.take_while(|&items| items < usize::MAX >> 24) {
        let bits = builder.figures(items).unwrap().bits_per_item;
        assert!((21.3..21.34 * 1.05).contains(&bits), "{bits} with {items} items");
    }
}
