//! Random operations of one thread on filters and maplets of one layout, compared with exact models. Compiled in
//! seconds.

mod machine;
mod sizes;

use coucal::{
    CuckooFilter, CuckooMaplet, Error, Fp12x5, GrowableCuckooFilter, GrowableCuckooMaplet,
};
use coucal_reference::{HASHER, Layout, Subject, boxed};

use self::machine::{fixed, growing};

fn layout() -> Layout {
    Layout::named("Fp12x5")
}

fn filter(capacity: usize) -> Result<Box<dyn Subject>, Error> {
    boxed(|| CuckooFilter::builder().layout::<Fp12x5>().hasher(HASHER).capacity(capacity).build())
}

fn maplet(capacity: usize, bits: u32) -> Result<Box<dyn Subject>, Error> {
    let builder = CuckooMaplet::builder().layout::<Fp12x5>().hasher(HASHER).value_bits(bits);
    boxed(|| builder.capacity(capacity).build())
}

fn growing_filter(first: usize, most: usize) -> Result<Box<dyn Subject>, Error> {
    let builder = GrowableCuckooFilter::builder().layout::<Fp12x5>().hasher(HASHER);
    boxed(|| builder.capacity(first).max_capacity(most).build())
}

fn growing_maplet(first: usize, most: usize, bits: u32) -> Result<Box<dyn Subject>, Error> {
    let builder = GrowableCuckooMaplet::builder().layout::<Fp12x5>().hasher(HASHER);
    boxed(|| builder.value_bits(bits).capacity(first).max_capacity(most).build())
}

#[test]
fn filters() {
    fixed(150, layout(), 0, &|_, most, _| filter(most));
}

#[test]
fn maplets() {
    let longest = layout().longest_values();
    fixed(400, layout(), longest, &|_, most, bits| maplet(most, bits));
}

#[test]
fn growing_filters() {
    growing(400, 0, &|first, most, _| growing_filter(first, most));
}

#[test]
fn growing_maplets() {
    growing(400, layout().longest_values(), &|first, most, bits| growing_maplet(first, most, bits));
}

#[test]
fn filters_of_each_size() {
    sizes::fixed(&|_, most, _| filter(most));
}

#[test]
fn maplets_of_each_size() {
    sizes::fixed(&|_, most, bits| maplet(most, bits));
}

#[test]
fn growing_filters_of_each_size() {
    sizes::growing(&|first, most, _| growing_filter(first, most));
}

#[test]
fn growing_maplets_of_each_size() {
    sizes::growing(&|first, most, bits| growing_maplet(first, most, bits));
}
