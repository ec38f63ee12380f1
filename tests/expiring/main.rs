//! Expiring filters: what one thread sees, exactly; time; threads; snapshots.
//!
//! A program of its own, with one type of fixed size, and one that grows.

mod counted;
mod exact;
mod golden;
mod hostile;
mod steady;
mod threads;
mod timed;

use std::time::Duration;

use coucal::{
    AnyLayout, Error, ExpiringBuilder, ExpiringCuckooFilter, ExpiringFilter, Fixed, Growable,
    GrowableExpiringCuckooFilter, StableHashBuilder,
};
use coucal_reference::{HASHER, Layout};

/// An expiring filter whose layout is chosen at run time.
type Seen<L = Fixed<AnyLayout>> = ExpiringFilter<L, StableHashBuilder>;

type GrowingSeen = Seen<Growable<AnyLayout>>;

/// The maximum number of generations that a test has in this layout.
fn most_generations(layout: Layout) -> u32 {
    1 << layout.longest_values().min(8)
}

fn builder(
    layout: Layout,
    generations: u32,
) -> ExpiringBuilder<Fixed<AnyLayout>, StableHashBuilder> {
    let builder = ExpiringCuckooFilter::builder().layout_named(layout.name).expect("its name");
    builder.hasher(HASHER).generations(generations)
}

fn growing_builder(
    layout: Layout,
    generations: u32,
) -> ExpiringBuilder<Growable<AnyLayout>, StableHashBuilder> {
    let builder = GrowableExpiringCuckooFilter::builder().layout_named(layout.name);
    builder.expect("its name").hasher(HASHER).generations(generations)
}

/// The figures of a builder that cannot build are the same error.
#[test]
fn figures_of_what_cannot_be_built() {
    let layout = Layout::named("Fp8x8");
    let of = |generations| builder(layout, generations).capacity(100);
    let now = || Duration::ZERO;
    let invalid = [
        of(0),
        of(1),
        of(16),
        of(16).every_items(1),
        of(257),
        of(4).every(Duration::ZERO),
        of(4).clock(now),
    ];
    for builder in invalid {
        let error = builder.figures(0).unwrap_err();
        assert!(!matches!(error, Error::ValueBitsOutOfRange { .. }), "{error}");
        assert_eq!(builder.build().unwrap_err(), error);
    }
}

/// Tests each number of generations that makes a difference for a table: few, not a power of two, and the maximum.
#[test]
fn generations_of_each_layout() {
    for layout in coucal_reference::LAYOUTS {
        let most = most_generations(layout);
        for generations in [2, 3, most - 1, most].into_iter().filter(|&n| n >= 2) {
            let seen = builder(layout, generations).capacity(100).build().expect("it has room");
            assert!((0..100).all(|item| seen.insert(&item).is_ok()), "{seen:?}");
            let items = seen.len();
            for generation in 1..generations {
                assert_eq!(seen.advance(), 0);
                assert_eq!(seen.generation(), u64::from(generation));
                assert!((0..100).all(|item| seen.age(&item) == Some(generation)), "{seen:?}");
            }
            assert_eq!((seen.advance(), seen.len()), (items, 0), "{seen:?}");
        }
        for generations in [0, 1, most + 1, 257, u32::MAX] {
            let error = builder(layout, generations).build().unwrap_err();
            let Error::GenerationsOutOfRange { layout: name, generations: asked, .. } = error
            else {
                panic!("{error:?}")
            };
            assert_eq!((name, asked), (layout.name, generations));
        }
    }
}
