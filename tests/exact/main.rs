//! Random operations of one thread on filters and maplets of one layout, compared with exact models. Compiled in
//! seconds.

mod machine;
mod sizes;

use coucal::{
    Builder, CuckooFilter, CuckooMaplet, Fixed, Fp12x5, MapletBuilder, StableHashBuilder,
};
use coucal_reference::{HASHER, Layout, boxed};

use self::machine::{fixed, growing};

fn layout() -> Layout {
    Layout::named("Fp12x5")
}

fn filters_for(capacity: usize) -> Builder<Fixed<Fp12x5>, StableHashBuilder> {
    CuckooFilter::builder().layout().hasher(HASHER).capacity(capacity)
}

fn maplets_for(capacity: usize, bits: u32) -> MapletBuilder<Fixed<Fp12x5>, StableHashBuilder> {
    CuckooMaplet::builder().layout().hasher(HASHER).capacity(capacity).value_bits(bits)
}

#[test]
fn filters() {
    fixed(150, layout(), 0, &|_, most, _| boxed(|| filters_for(most).build()));
}

#[test]
fn maplets() {
    let longest = layout().longest_values();
    fixed(400, layout(), longest, &|_, most, bits| boxed(|| maplets_for(most, bits).build()));
}

#[test]
fn growing_filters() {
    growing(400, 0, &|first, most, _| boxed(|| filters_for(first).max_capacity(most).build()));
}

#[test]
fn growing_maplets() {
    growing(400, layout().longest_values(), &|first, most, bits| {
        boxed(|| maplets_for(first, bits).max_capacity(most).build())
    });
}

#[test]
fn filters_of_each_size() {
    sizes::fixed(&|_, most, _| boxed(|| filters_for(most).build()));
}

#[test]
fn maplets_of_each_size() {
    sizes::fixed(&|_, most, bits| boxed(|| maplets_for(most, bits).build()));
}

#[test]
fn growing_filters_of_each_size() {
    sizes::growing(&|first, most, _| boxed(|| filters_for(first).max_capacity(most).build()));
}

#[test]
fn growing_maplets_of_each_size() {
    sizes::growing(&|first, most, bits| {
        boxed(|| maplets_for(first, bits).max_capacity(most).build())
    });
}
