//! What the models of `loom-tests` may see and do that a user may not. Exists under `--cfg loom`.

use core::cell::RefCell;

use crate::filter::CuckooFilter;
use crate::geometry::Geometry;
use crate::hasher::DefaultHashBuilder;
use crate::layout::Layout;
use crate::table::Table;

/// Where an item lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// What is stored of it.
    pub fingerprint: u64,
    /// The bucket that a lookup reads first.
    pub first: usize,
    /// The bucket that a lookup reads second.
    pub second: usize,
}

/// An access to shared memory, or a lock taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A word or a version was read.
    Load,
    /// A word was written.
    Store,
    /// A version was raised, or an inconclusive lookup counted.
    Add,
    /// A stripe was locked.
    Lock,
}

type Hook = Box<dyn FnMut(Step)>;

loom::thread_local! {
    static HOOK: RefCell<Option<Hook>> = RefCell::new(None);
}

/// Where a table of so many buckets keeps the item with this hash.
#[must_use]
pub fn place<L: Layout>(buckets: usize, hash: u64) -> Place {
    let key = Geometry::new(buckets).key(hash, L::FINGERPRINT_BITS);
    Place { fingerprint: key.fingerprint, first: key.first, second: key.second }
}

/// An empty filter of so many buckets: small tables that no capacity asks for, too.
#[must_use]
pub fn filter<L: Layout>(buckets: usize) -> CuckooFilter<L> {
    let table = Table::try_new(buckets).expect("a small table");
    CuckooFilter::from_parts(table, DefaultHashBuilder::default(), 0)
}

/// Stores a fingerprint in a bucket, as inserts and kicks could have done. `false`: it is full.
#[must_use]
pub fn put<L: Layout>(filter: &CuckooFilter<L>, bucket: usize, fingerprint: u64) -> bool {
    filter.table().put(bucket, fingerprint)
}

/// The lock of the stripes, for the models of the lock itself: in the others a mutex of loom's
/// stands in for it.
pub use crate::lock::{Guard, Lock};

/// Calls `hook` after each step of the calling thread, but for the steps of the hook itself.
pub fn after_each_step(hook: impl FnMut(Step) + 'static) {
    HOOK.with(|slot| *slot.borrow_mut() = Some(Box::new(hook)));
}

pub(crate) fn stepped(step: Step) {
    let hook = HOOK.with(|slot| slot.borrow_mut().take());
    if let Some(mut hook) = hook {
        hook(step);
        HOOK.with(|slot| *slot.borrow_mut() = Some(hook));
    }
}
