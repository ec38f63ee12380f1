//! Random operations of one thread against exact models, of filters and maplets of one layout: compiled in seconds.

mod machine;

use coucal::{CuckooFilter, CuckooMaplet, Fp12x5};
use coucal_reference::{HASHER, Layout};

use self::machine::{fixed, growing};

fn layout() -> Layout {
    Layout::named("Fp12x5")
}

#[test]
fn filters() {
    let filters = CuckooFilter::builder().layout::<Fp12x5>().hasher(HASHER);
    fixed(150, layout(), 1, |capacity, _| {
        filters.clone().capacity(capacity).build().expect("memory for a test")
    });
}

#[test]
fn maplets() {
    let maplets = CuckooMaplet::builder().layout::<Fp12x5>().hasher(HASHER);
    fixed(600, layout(), layout().longest_values(), |capacity, bits| {
        maplets.clone().value_bits(bits).capacity(capacity).build().expect("memory for a test")
    });
}

#[test]
fn growing_filters() {
    let filters = CuckooFilter::builder().layout::<Fp12x5>().hasher(HASHER);
    growing(100, 1, |first, most, _| {
        let filters = filters.clone().capacity(first).max_capacity(most);
        filters.build().expect("memory for a test")
    });
}

#[test]
fn growing_maplets() {
    let maplets = CuckooMaplet::builder().layout::<Fp12x5>().hasher(HASHER);
    growing(600, layout().longest_values(), |first, most, bits| {
        let maplets = maplets.clone().value_bits(bits).capacity(first).max_capacity(most);
        maplets.build().expect("memory for a test")
    });
}
