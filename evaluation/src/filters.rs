//! The filters of table 3 and figures 5 to 8, each built for the same number of bytes.

use coucal::{Fp12x5, Fp16x4, Layout, SemiSorted14x5, SemiSorted17x4};
use coucal_measure::peers::{
    Atomic, Blocked, Bloom, Coucal, Counting, Quotient, coucal_with_bytes,
};
use coucal_measure::subject::Subject;

/// A filter that several threads may look up in.
pub type Filter = dyn Subject + Send + Sync;
pub type Contender = coucal_measure::peers::Contender<Filter>;

fn coucal<L: Layout + 'static>(bytes: usize) -> Box<Filter> {
    Box::new(Coucal(coucal_with_bytes::<L>(bytes)))
}

/// Everything that takes part, coucal first.
pub const CONTENDERS: [Contender; 9] = [
    Contender {
        name: "Fp12x5",
        what: "coucal, the layout closest to the paper's cuckoo filter",
        removes: true,
        shared: true,
        build: coucal::<Fp12x5>,
    },
    Contender {
        name: "SemiSorted14x5",
        what: "coucal, semi-sorted",
        removes: true,
        shared: true,
        build: coucal::<SemiSorted14x5>,
    },
    Contender {
        name: "Fp16x4",
        what: "coucal, the default layout",
        removes: true,
        shared: true,
        build: coucal::<Fp16x4>,
    },
    Contender {
        name: "SemiSorted17x4",
        what: "coucal, semi-sorted",
        removes: true,
        shared: true,
        build: coucal::<SemiSorted17x4>,
    },
    Contender {
        name: "Bloom",
        what: "fastbloom, the atomic one, 13 bits per item, its own choice of hash functions",
        removes: false,
        shared: true,
        build: |bytes| Box::new(Bloom::with_bytes(bytes)),
    },
    Contender {
        name: "blocked Bloom",
        what: "sbbf-rs-safe, one block of 256 bits for each item, 13 bits per item",
        removes: false,
        shared: false,
        build: |bytes| Box::new(Blocked::with_bytes(bytes)),
    },
    Contender {
        name: "counting Bloom",
        what: "fastbloom-rs, 13 counters of 4 bits per item, 9 hash functions",
        removes: true,
        shared: false,
        build: |bytes| Box::new(Counting::with_bytes(bytes)),
    },
    Contender {
        name: "quotient",
        what: "qfilter, remainders of 9 bits, a power of two of slots",
        removes: true,
        shared: false,
        build: |bytes| Box::new(Quotient::with_bytes(bytes)),
    },
    Contender {
        name: "atomic-cuckoo-filter",
        what: "16 bits, 4 slots, a power of two of slots",
        removes: true,
        shared: true,
        build: |bytes| Box::new(Atomic::with_bytes(bytes)),
    },
];
