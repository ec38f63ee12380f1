//! Behaviour that depends on the type that names a layout. The other tests are compiled for the layout that is chosen
//! at run time, and run for each.

use coucal::{
    AnyCuckooFilter, AnyCuckooMaplet, AnyExpiringCuckooFilter, AnyLayout, Builder, CuckooFilter,
    CuckooFilterView, CuckooMaplet, CuckooMapletView, DefaultHashBuilder, Error, Expiring,
    ExpiringBuilder, ExpiringCuckooFilter, ExpiringFilter, Filter, Filters, Fixed, Fp12x5, Fp16x4,
    Fp21x3, Growable, GrowableCuckooFilter, GrowableCuckooMaplet, GrowableExpiringCuckooFilter,
    GrowingLayout, Maplet, MapletBuilder, Maplets, NoHasher, StableHashBuilder,
};

use crate::common::{HASHER, Item, LAYOUTS, Layout, Subject};

/// Compiles if the types on both sides are the same.
macro_rules! are_the_same {
    ($($one:ty = $other:ty;)*) => {
        $(const _: fn($one) -> $other = |value| value;)*
    };
}

// The default type parameters of each type, which `public-api.txt` does not show: with other ones, the types that users
// have in their structs are others.
are_the_same! {
    CuckooFilter = Filter<Fixed<Fp16x4>, DefaultHashBuilder>;
    CuckooFilter<Fp12x5> = Filter<Fixed<Fp12x5>, DefaultHashBuilder>;
    AnyCuckooFilter = Filter<Fixed<AnyLayout>, DefaultHashBuilder>;
    GrowableCuckooFilter = Filter<Growable<Fp16x4>, DefaultHashBuilder>;
    GrowableCuckooFilter<Fp12x5> = Filter<Growable<Fp12x5>, DefaultHashBuilder>;
    Filter<Fixed<Fp12x5>> = Filter<Fixed<Fp12x5>, DefaultHashBuilder>;
    CuckooMaplet = Maplet<Fixed<Fp16x4>, DefaultHashBuilder>;
    CuckooMaplet<Fp12x5> = Maplet<Fixed<Fp12x5>, DefaultHashBuilder>;
    AnyCuckooMaplet = Maplet<Fixed<AnyLayout>, DefaultHashBuilder>;
    GrowableCuckooMaplet = Maplet<Growable<Fp21x3>, DefaultHashBuilder>;
    GrowableCuckooMaplet<Fp12x5> = Maplet<Growable<Fp12x5>, DefaultHashBuilder>;
    Maplet<Fixed<Fp12x5>> = Maplet<Fixed<Fp12x5>, DefaultHashBuilder>;
    ExpiringCuckooFilter = ExpiringFilter<Fixed<Fp16x4>, DefaultHashBuilder>;
    ExpiringCuckooFilter<Fp12x5> = ExpiringFilter<Fixed<Fp12x5>, DefaultHashBuilder>;
    AnyExpiringCuckooFilter = ExpiringFilter<Fixed<AnyLayout>, DefaultHashBuilder>;
    GrowableExpiringCuckooFilter = ExpiringFilter<Growable<Fp21x3>, DefaultHashBuilder>;
    GrowableExpiringCuckooFilter<Fp12x5> = ExpiringFilter<Growable<Fp12x5>, DefaultHashBuilder>;
    ExpiringFilter<Fixed<Fp12x5>> = ExpiringFilter<Fixed<Fp12x5>, DefaultHashBuilder>;
    Builder = Builder<Fixed<Fp16x4>, DefaultHashBuilder, Filters>;
    Builder<Growable<Fp12x5>> = Builder<Growable<Fp12x5>, DefaultHashBuilder, Filters>;
    Builder<Growable<Fp12x5>, NoHasher> = Builder<Growable<Fp12x5>, NoHasher, Filters>;
    MapletBuilder = Builder<Fixed<Fp16x4>, DefaultHashBuilder, Maplets>;
    MapletBuilder<Growable<Fp12x5>> = Builder<Growable<Fp12x5>, DefaultHashBuilder, Maplets>;
    ExpiringBuilder = Builder<Fixed<Fp16x4>, DefaultHashBuilder, Expiring>;
    ExpiringBuilder<Growable<Fp12x5>> = Builder<Growable<Fp12x5>, DefaultHashBuilder, Expiring>;
    CuckooFilterView<Vec<u8>> = CuckooFilterView<Vec<u8>, StableHashBuilder>;
    CuckooMapletView<Vec<u8>> = CuckooMapletView<Vec<u8>, StableHashBuilder>;
}

/// Runs a function that is generic over the layout, for the layout with this name.
macro_rules! with_type {
    ([$layout:ident $run:ident] $($name:ident)*) => {
        match $layout.name {
            $(stringify!($name) => $run::<coucal::$name>($layout),)*
            name => panic!("no type has the name {name}"),
        }
    };
}

of_each_layout!(it_is_that_of_the_layout);

of_each_growing_layout!(a_filter_grows_if_its_layout_does);

#[test]
fn the_layouts_of_the_crate() {
    macro_rules! all {
        ($($layout:ident)*) => {
            [$((
                <coucal::$layout as coucal::Layout>::NAME,
                coucal::$layout::FINGERPRINT_BITS,
                coucal::$layout::SLOTS,
            )),*]
        };
    }
    let known = |layout: Layout| (layout.name, layout.bits, layout.slots);
    assert_eq!(coucal_reference::for_each_layout!(all), LAYOUTS.map(known));
    let growing = LAYOUTS.into_iter().filter(|layout| layout.grows()).map(known);
    assert!(growing.eq(coucal_reference::for_each_layout!(that grows: all)));
}

fn it_is_that_of_the_layout(layout: Layout) {
    fn check<L: coucal::Layout>(layout: Layout) {
        let filter = CuckooFilter::builder().layout::<L>().hasher(HASHER).capacity(1000);
        let filter = filter.build().expect("memory");
        are_alike(&filter, &layout.filter(1000), CuckooFilter::from_bytes);
        let maplet = CuckooMaplet::builder().layout::<L>().hasher(HASHER).capacity(1000);
        let maplet = maplet.value_bits(VALUE_BITS).build().expect("memory");
        are_alike(&maplet, &layout.maplet(1000, VALUE_BITS), CuckooMaplet::from_bytes);
    }
    coucal_reference::for_each_layout!(with_type [layout check]);
}

fn a_filter_grows_if_its_layout_does(layout: Layout) {
    fn check<L: GrowingLayout>(layout: Layout) {
        let filter =
            GrowableCuckooFilter::builder().max_capacity(1500).hasher(HASHER).layout::<L>();
        let filter = filter.build().expect("memory");
        are_alike(&filter, &layout.growing(0, 1500), GrowableCuckooFilter::from_bytes);
        let maplet =
            GrowableCuckooMaplet::builder().max_capacity(1500).hasher(HASHER).layout::<L>();
        let maplet = maplet.value_bits(VALUE_BITS).build().expect("memory");
        let chosen = layout.growing_maplet(0, 1500, VALUE_BITS);
        are_alike(&maplet, &chosen, GrowableCuckooMaplet::from_bytes);
    }
    coucal_reference::for_each_layout!(that grows: with_type [layout check]);
}

const VALUE_BITS: u32 = 3;

/// Returns the answers of the subject to some operations, and its figures and its bytes after them.
fn outcome<S: Subject + ?Sized>(subject: &S) -> String {
    let top = (1 << subject.value_bits()) - 1;
    let item = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15), n as u32 & top);
    let batch: Vec<Item> = (1500..1600).map(item).collect();
    let stored = subject.insert_many(&batch);
    let step = |n: u64| {
        let (hash, value) = item(n);
        let is_stored = subject.insert((hash, value)).is_ok();
        let is_changed = match n % 5 {
            0 => subject.remove((hash, value)),
            1 if top == 0 => subject.insert_if_absent((hash, value)) == Ok(true),
            1 => subject.replace((hash, value), top - value),
            _ => false,
        };
        let look = |hash| (subject.contains(hash), subject.values(hash));
        (is_stored, is_changed, [hash, hash ^ 1 << 40].map(look))
    };
    let answers: Vec<_> = (0..1500).map(step).collect();
    let found = subject.contains_each(&batch.iter().map(|&(hash, _)| hash).collect::<Vec<_>>());
    let figures = [subject.len(), subject.slots(), subject.capacity(), subject.heap_bytes()];
    let rate = subject.false_positive_rate().to_bits();
    format!("{:?}", (stored, answers, found, figures, rate, subject.stashed(), subject.bytes()))
}

/// Compiles only what it calls for each type: a `dyn Subject` of each type would have all methods.
fn are_alike<S: Subject>(
    of_type: &S,
    chosen: &dyn Subject,
    from_bytes: impl Fn(&[u8], StableHashBuilder) -> Result<S, Error>,
) {
    assert!(outcome(of_type) == outcome(chosen), "{of_type:?}, {chosen:?}");
    assert!(of_type.len() > 900);
    let bytes = of_type.bytes();
    assert!(from_bytes(&bytes, HASHER).expect("a snapshot of this type").bytes() == bytes);
    of_type.clear();
    assert!(of_type.is_empty());
}
