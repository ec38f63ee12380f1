//! Sequences of operations on two filters of any layout and kind.

use arbitrary::{Arbitrary, Unstructured};
use coucal::{CuckooFilter, FixedStorage, Growable, GrowingLayout, ReserveError, Storage};

use crate::for_each_layout;
use crate::model::{Filter, HASHER, Modelled, Op};

/// What is done after the filters are built.
const MOST_OPS: usize = 300;

/// The bytes of a filter of this shape with these items.
type SnapshotOf = fn(&Setup, &[u64]) -> Vec<u8>;

/// Two filters of one shape.
#[derive(Arbitrary, Debug)]
pub struct Setup {
    layout: u8,
    grows: bool,
    /// At first.
    capacity: u8,
    /// Of a filter that grows: by how many hundredths of the first capacity.
    factor: u8,
}

impl Setup {
    fn fixed<L: FixedStorage>(&self) -> Filter<L> {
        let builder = CuckooFilter::builder().layout::<L>().hasher(HASHER);
        builder.capacity(self.capacity.into()).build().expect("memory")
    }

    fn growable<L: GrowingLayout>(&self) -> Filter<Growable<L>> {
        let first = usize::from(self.capacity);
        let builder = CuckooFilter::builder().layout::<L>().hasher(HASHER).capacity(first);
        let most = first + first * usize::from(self.factor) / 100;
        builder.max_capacity(most).build().expect("memory")
    }

    /// The bytes of a filter of this shape with these items, or with those that it has room for.
    pub fn snapshot(&self, hashes: &[u64]) -> Vec<u8> {
        fn snapshot_of<L: Storage>(filter: &Filter<L>, hashes: &[u64]) -> Vec<u8> {
            let _ = filter.insert_hash_many(hashes);
            filter.snapshot().expect("memory").to_bytes()
        }
        macro_rules! fixed {
            ($($layout:ident)*) => {
                [$(|this, hashes| snapshot_of(&this.fixed::<coucal::$layout>(), hashes)),*]
            };
        }
        macro_rules! growing {
            ($($layout:ident)*) => {
                [$(|this, hashes| snapshot_of(&this.growable::<coucal::$layout>(), hashes)),*]
            };
        }
        let fixed: [SnapshotOf; _] = for_each_layout!(fixed);
        let growing: [SnapshotOf; _] = coucal::__for_each_growing_layout!(growing);
        self.choose(&fixed, &growing)(self, hashes)
    }

    /// Which of these functions is for a filter of this shape.
    fn choose<F: Copy>(&self, fixed: &[F], growing: &[F]) -> F {
        let all = if self.grows { growing } else { fixed };
        all[usize::from(self.layout) % all.len()]
    }
}

/// Whatever the bytes say is done to two filters; neither may ever differ from an exact multiset.
///
/// # Panics
///
/// If one does.
pub fn operations(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let Ok(setup) = Setup::arbitrary(&mut data) else {
        return;
    };
    macro_rules! fixed {
        ($($layout:ident)*) => { [$(run_fixed::<coucal::$layout>),*] };
    }
    macro_rules! growing {
        ($($layout:ident)*) => { [$(run_growing::<coucal::$layout>),*] };
    }
    let fixed: [fn(&Setup, &mut Unstructured<'_>); _] = for_each_layout!(fixed);
    let growing: [fn(&Setup, &mut Unstructured<'_>); _] =
        coucal::__for_each_growing_layout!(growing);
    setup.choose(&fixed, &growing)(&setup, &mut data);
}

fn run_fixed<L: FixedStorage>(setup: &Setup, data: &mut Unstructured<'_>) {
    let filter = || Modelled::new(setup.fixed::<L>(), |_, _| {});
    apply_all(filter(), filter(), data);
}

fn run_growing<L: GrowingLayout>(setup: &Setup, data: &mut Unstructured<'_>) {
    let filter = || Modelled::new(setup.growable::<L>(), reserve);
    apply_all(filter(), filter(), data);
}

/// As `Modelled` wants it.
pub fn reserve<L: GrowingLayout>(filter: &Filter<Growable<L>>, additional: usize) {
    let wanted = filter.len() + additional;
    match filter.reserve(additional) {
        Ok(()) => assert!(wanted <= filter.max_capacity() && filter.capacity() >= wanted),
        Err(error) => {
            let max_capacity = filter.max_capacity();
            assert_eq!(error, ReserveError::AboveMaxCapacity { wanted, max_capacity });
            assert!(wanted > max_capacity);
        }
    }
}

/// Does what the bytes say to two filters, and checks both.
pub fn apply_all<L: Storage>(
    mut this: Modelled<L>,
    mut other: Modelled<L>,
    data: &mut Unstructured<'_>,
) {
    for _ in 0..MOST_OPS {
        if data.is_empty() {
            break;
        }
        let Ok(op) = Op::arbitrary(data) else {
            break;
        };
        this.apply(op, &mut other);
    }
    this.check();
    other.check();
}
