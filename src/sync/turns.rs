//! A filter in a model of its user's: with the feature `loom`, under `--cfg loom`, each operation is one step.
//!
//! That operations are linearizable is shown by the models of this crate. So a model of code that uses a filter need
//! not explore their inside again. loom switches threads only at its own operations: here, where an operation takes its
//! *turn*, by an access to an atomic of the table. What follows is on the machine's words, and nothing comes in between.
//!
//! What takes effect at several instants takes several turns: a batch one for each item, a merge one for each entry, a
//! `clear` one for each bucket, a `remove_value` or an `advance` one for each bucket with the value, a `get` two. An
//! `age` takes one: an item has one entry, whose stamp was there at some instant.
//!
//! # Waiting
//!
//! What holds locks for several turns keeps others waiting: a `clear`, which holds all of them, whatever takes a lock; a
//! merge, `remove_value`, `advance` and the end of a snapshot each other, and a snapshot the next one. So who needs such
//! a lock calls `lock`, and who needs a stripe has called `take_locked` or `take_to_store` since it waited last. **The
//! rule:** while it has no turn, no operation waits for a lock that a thread without a turn may hold. In a model, a lock
//! that is held in spite of the rule is a panic.
//!
//! # Order of memory
//!
//! A turn orders nothing. An answer orders what it promises, and no more: a model shall find code that relies on more.
//!
//! | answer | of | promises |
//! |---|---|---|
//! | found | `contains`, `count`, `get`, `remove`, `replace`, `snapshot`; `insert_if_absent` and `insert_if_absent`, if nothing was inserted; `age`; `insert` of an expiring filter, if the item was seen | Acquire: whoever finds an item sees what was done before its insert |
//! | stored | `insert` (of an expiring filter, if the item is new), `insert_if_absent`, `insert_if_absent`, `replace`, each entry of a `merge` | Release: pairs with what finds it |
//! | all others | what is absent; an insert that fails; a removal, of which no answer tells; `clear`, `remove_value`, `advance`, `reserve`, figures | nothing |
//!
//! An `update` is a lookup of one value, in one turn, and a `replace`.
//!
//! A table is one object: what was found is ordered after all that was stored before, not only after its own insert.

#[cfg_attr(all(loom, feature = "loom", not(coucal_model)), path = "turns/loom.rs")]
#[cfg_attr(not(all(loom, feature = "loom", not(coucal_model))), path = "turns/none.rs")]
mod chosen;

#[cfg(all(loom, feature = "loom", not(coucal_model)))]
pub(super) mod locks;

pub(crate) use chosen::Turns;
