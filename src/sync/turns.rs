//! A filter in a model of its user's: with the feature `loom`, under `--cfg loom`, each operation is one step.
//!
//! That operations are linearizable is shown by the models of this crate. So a model of code that uses a filter need
//! not explore their inside again. loom switches threads only at its own operations: here, where an operation takes its
//! *turn*, by an access to an atomic of the table. What follows is on the machine's words, and nothing comes in between.
//!
//! What takes effect at several instants takes several turns: a batch one for each item, a merge one for each entry, a
//! `clear` one for each bucket, a `get` two.
//!
//! # Order of memory
//!
//! A turn orders nothing. An answer orders what it promises, and no more: a model shall find code that relies on more.
//!
//! | answer | of | promises |
//! |---|---|---|
//! | found | `contains`, `count`, `get`, `remove`, `replace`, `snapshot`; `insert_unique`, if nothing was inserted | Acquire: whoever finds an item sees what was done before its insert |
//! | stored | `insert`, `insert_unique`, `replace`, each entry of a `merge` | Release: pairs with what finds it |
//! | all others | what is absent; an insert that fails; a removal, of which no answer tells; `clear`, `reserve`, figures | nothing |
//!
//! A table is one object: what was found is ordered after all that was stored before, not only after its own insert.
#![expect(clippy::inline_always, reason = "nothing of it is left without the feature")]

#[cfg_attr(all(loom, feature = "loom", not(coucal_model)), path = "turns/loom.rs")]
#[cfg_attr(not(all(loom, feature = "loom", not(coucal_model))), path = "turns/none.rs")]
mod chosen;

pub(crate) use chosen::Turns;

impl Turns {
    /// A lookup without a lock.
    #[inline(always)]
    pub(crate) fn look<A>(&self, look: impl FnOnce() -> A, found: impl Fn(&A) -> bool) -> A {
        self.take();
        self.acquire_if(look(), found)
    }

    /// What takes locks to find something, and stores nothing that an answer tells of.
    #[inline(always)]
    pub(crate) fn find<A>(&self, find: impl FnOnce() -> A, found: impl Fn(&A) -> bool) -> A {
        self.take_locked();
        self.acquire_if(find(), found)
    }

    /// An insert.
    #[inline(always)]
    pub(crate) fn insert<A, E>(&self, insert: impl FnOnce() -> Result<A, E>) -> Result<A, E> {
        self.store(insert, Result::is_ok)
    }

    /// An insert of what may be there: then the answer is `Ok(false)`.
    #[inline(always)]
    pub(crate) fn insert_unique<E>(
        &self,
        insert: impl FnOnce() -> Result<bool, E>,
    ) -> Result<bool, E> {
        let insert = || self.acquire_if(insert(), |new| matches!(new, Ok(false)));
        self.store(insert, |new| matches!(new, Ok(true)))
    }

    /// A replacement: finds a value, and stores another.
    #[inline(always)]
    pub(crate) fn replace<E>(&self, replace: impl FnOnce() -> Result<bool, E>) -> Result<bool, E> {
        let replaced = |answer: &Result<bool, E>| matches!(answer, Ok(true));
        self.store(|| self.acquire_if(replace(), replaced), replaced)
    }

    #[inline(always)]
    fn acquire_if<A>(&self, answer: A, found: impl Fn(&A) -> bool) -> A {
        if found(&answer) {
            self.acquire();
        }
        answer
    }
}
