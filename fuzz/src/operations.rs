//! Sequences of operations on two filters of any layout and kind.

use arbitrary::{Arbitrary, Unstructured};
use coucal::{CuckooFilter, Growable, Layout, ReserveError};

use crate::for_each_layout;
use crate::model::{Filter, HASHER, Modelled, Op};

/// What is done after the filters are built.
const MOST_OPS: usize = 300;

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
    fn fixed<L: Layout>(&self) -> Filter<L> {
        let builder = CuckooFilter::builder().layout::<L>().hasher(HASHER);
        builder.capacity(self.capacity.into()).build().expect("memory")
    }

    fn growable<L: Layout>(&self) -> Filter<Growable<L>> {
        let first = usize::from(self.capacity);
        let builder = CuckooFilter::builder().layout::<L>().hasher(HASHER).capacity(first);
        // Four times as many is within reach of every layout, but for what rounding adds.
        let most = first + first * usize::from(self.factor) / 100;
        builder.max_capacity(most).build().expect("growth within reach")
    }

    /// The bytes of a filter of this shape with these items, or with those that it has room for.
    pub fn snapshot(&self, hashes: &[u64]) -> Vec<u8> {
        macro_rules! dispatch {
            ($($layout:ident)*) => {{
                let all = [$(Self::snapshot_of::<coucal::$layout>),*];
                all[usize::from(self.layout) % all.len()](self, hashes)
            }};
        }
        for_each_layout!(dispatch)
    }

    fn snapshot_of<L: Layout>(&self, hashes: &[u64]) -> Vec<u8> {
        let snapshot = if self.grows {
            let filter = self.growable::<L>();
            let _ = filter.insert_many_hashes(hashes);
            filter.snapshot()
        } else {
            let filter = self.fixed::<L>();
            let _ = filter.insert_many_hashes(hashes);
            filter.snapshot()
        };
        snapshot.expect("memory").to_bytes()
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
    macro_rules! dispatch {
        ($($layout:ident)*) => {{
            let all = [$(run::<coucal::$layout>),*];
            all[usize::from(setup.layout) % all.len()](&setup, &mut data);
        }};
    }
    for_each_layout!(dispatch);
}

fn run<L: Layout>(setup: &Setup, data: &mut Unstructured<'_>) {
    if setup.grows {
        let filter = || Modelled::new(setup.growable::<L>(), reserve);
        apply_all(filter(), filter(), data);
    } else {
        let filter = || Modelled::new(setup.fixed::<L>(), |_, _| {});
        apply_all(filter(), filter(), data);
    }
}

/// As `Modelled` wants it.
pub fn reserve<L: coucal::FixedStorage>(filter: &Filter<Growable<L>>, additional: usize) {
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
pub fn apply_all<L: coucal::Storage>(
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
