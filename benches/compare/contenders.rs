//! Everything that takes part, coucal first.

use coucal::DefaultHashBuilder;
use coucal_measure::hash::KeyHash;
use coucal_measure::peers::{
    Atomic, Bloom, Contender, Coucal, LockedHashSet, LockedMutex, LockedRwLock, Moka, Quotient,
    Scalable, Sequential, Sharded, coucal_with_slots,
};
use coucal_measure::subject::Subject;

pub const COUCAL: &str = "coucal";
pub const DEFAULT_HASHER: &str = "coucal (default hasher)";
pub const ATOMIC: &str = "atomic-cuckoo-filter";
pub const SEQUENTIAL: &str = "cuckoofilter";
pub const SCALABLE: &str = "scalable_cuckoo_filter";
pub const QUOTIENT: &str = "qfilter";
pub const BLOOM: &str = "fastbloom";
pub const MUTEX: &str = "Mutex<cuckoofilter>";
pub const DASH_SET: &str = "DashSet";

/// A contender, and how much it can be asked for.
pub struct Entrant {
    pub contender: Contender<dyn Subject>,
    /// The largest table that it is measured with.
    pub most_slots: u64,
    /// It stores whole keys: no false positives, and one copy of each key.
    pub exact: bool,
    /// Large tables take so long that they are measured once.
    pub slow: bool,
}

impl Entrant {
    pub fn name(&self) -> &'static str {
        self.contender.name
    }

    /// Whether it takes part at this size in this round.
    pub fn takes_part(&self, slots: u64, round: usize) -> bool {
        slots <= self.most_slots && (round == 0 || !self.slow || slots <= 1 << 20)
    }
}

const fn filter(contender: Contender<dyn Subject>) -> Entrant {
    Entrant { contender, most_slots: u64::MAX, exact: false, slow: false }
}

/// Sets of this size and locks around filters say no more when they are larger, and take long.
const LARGEST: u64 = 1 << 24;

const fn locked(contender: Contender<dyn Subject>) -> Entrant {
    Entrant { contender, most_slots: LARGEST, exact: false, slow: false }
}

const fn set(slow: bool, contender: Contender<dyn Subject>) -> Entrant {
    Entrant { contender, most_slots: LARGEST, exact: true, slow }
}

pub const ENTRANTS: [Entrant; 12] = [
    filter(Contender {
        name: COUCAL,
        what: "this crate",
        removes: true,
        shared: true,
        build: |slots| Box::new(Coucal(coucal_with_slots::<KeyHash>(slots))),
    }),
    filter(Contender {
        name: DEFAULT_HASHER,
        what: "the same with the hasher that it has by default",
        removes: true,
        shared: false,
        build: |slots| Box::new(Coucal(coucal_with_slots::<DefaultHashBuilder>(slots))),
    }),
    filter(Contender {
        name: ATOMIC,
        what: "concurrent",
        removes: true,
        shared: true,
        build: |slots| Box::new(Atomic::with_slots(slots)),
    }),
    filter(Contender {
        name: SEQUENTIAL,
        what: "one thread; 8-bit fingerprints, so 3 % false positives",
        removes: true,
        shared: false,
        build: |slots| Box::new(Sequential::with_slots(slots)),
    }),
    filter(Contender {
        name: SCALABLE,
        what: "one thread",
        removes: true,
        shared: false,
        build: |slots| Box::new(Scalable::with_slots(slots)),
    }),
    filter(Contender {
        name: QUOTIENT,
        what: "one thread; a quotient filter",
        removes: true,
        shared: false,
        build: |slots| Box::new(Quotient::with_slots(slots)),
    }),
    filter(Contender {
        name: BLOOM,
        what: "concurrent; a Bloom filter, no removal",
        removes: false,
        shared: true,
        build: |slots| Box::new(Bloom::with_slots(slots)),
    }),
    locked(Contender {
        name: "RwLock<cuckoofilter>",
        what: "`cuckoofilter` behind the lock of `parking_lot`",
        removes: true,
        shared: true,
        build: |slots| Box::new(LockedRwLock::new(Sequential::with_slots(slots))),
    }),
    locked(Contender {
        name: MUTEX,
        what: "`cuckoofilter` behind the lock of `parking_lot`",
        removes: true,
        shared: true,
        build: |slots| Box::new(LockedMutex::new(Sequential::with_slots(slots))),
    }),
    set(
        false,
        Contender {
            name: "RwLock<HashSet>",
            what: "exact set; both of the standard library",
            removes: true,
            shared: true,
            build: |slots| Box::new(LockedHashSet::with_slots(slots)),
        },
    ),
    set(
        false,
        Contender {
            name: DASH_SET,
            what: "exact set; of `dashmap`",
            removes: true,
            shared: true,
            build: |slots| Box::new(Sharded::with_slots(slots)),
        },
    ),
    set(
        true,
        Contender {
            name: "moka",
            what: "exact set; a `sync::Cache<u64, ()>` with room for all items",
            removes: true,
            shared: true,
            build: |slots| Box::new(Moka::with_slots(slots)),
        },
    ),
];

pub fn names() -> [&'static str; ENTRANTS.len()] {
    ENTRANTS.each_ref().map(Entrant::name)
}

/// Everything but coucal.
pub fn peer_names() -> impl Iterator<Item = &'static str> {
    names().into_iter().filter(|name| !name.starts_with(COUCAL))
}
