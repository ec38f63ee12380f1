//! A filter in a model of its user's: with the feature `loom`, under `--cfg loom`, each operation is one step.
//!
//! That operations are linearizable is shown by the models of this crate. So a model of code that uses a filter need
//! not explore their inside again. loom switches threads only at its own operations: here, where an operation takes its
//! *turn*, by an access to an atomic of the table. What follows is on the machine's words, and nothing comes in between.
//!
//! What takes effect at several instants takes several turns: as few as show others what they may see of it.
//!
//! | operation | turns |
//! |---|---|
//! | a lookup, figures, an insert, a removal, a replacement, `reserve`, with all splits and hops of a kick | one |
//! | a batch | one for each item |
//! | `age` | one: an item has one entry, whose stamp was there at some instant |
//! | `get` | two: the values of a key are not read at one instant |
//! | `update` | two: a lookup of one value, and a replacement. If another thread was faster, two more |
//! | `snapshot`, `try_clone` | one |
//! | `merge` | one at the other table, as a snapshot; two at this one: of the first entry, and of all others |
//! | `clear`, `remove_value`, `advance` | two: of all buckets that have something to remove but the last one, and of that one. So between them some entries are left, and not all |
//!
//! An `advance` by several generations is as several of them. What is rare has more turns: one for each entry that a
//! failing merge takes back, and one for each entry of the stash that has the value which is removed.
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
//! | found | `contains`, `count`, `get`, `remove`, `replace`, `snapshot`; `insert_if_absent`, if nothing was inserted; `age`; `insert` of an expiring filter, if the item was seen | Acquire: whoever finds an item sees what was done before its insert |
//! | stored | `insert` (of an expiring filter, if the item is new), `insert_if_absent`, `replace`, each entry of a `merge` | Release: pairs with what finds it |
//! | all others | what is absent; an insert that fails; a removal, of which no answer tells; `clear`, `remove_value`, `advance`, `reserve`, figures | nothing |
//!
//! A table is one object: what was found is ordered after all that was stored before, not only after its own insert.

#[cfg_attr(all(loom, feature = "loom", not(coucal_model)), path = "turns/loom.rs")]
#[cfg_attr(not(all(loom, feature = "loom", not(coucal_model))), path = "turns/none.rs")]
mod chosen;

#[cfg(all(loom, feature = "loom", not(coucal_model)))]
pub(super) mod locks;

pub(crate) use chosen::{StepsToStore, Turns};
