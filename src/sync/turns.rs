//! A filter in a user's model: with the feature `loom`, under `--cfg loom`, each operation is one step.
//!
//! The models of this crate show that operations are linearizable. So a model of code that uses a filter need not
//! explore again what happens inside of operations. loom switches threads only at its own operations. Here that is
//! where an operation takes its *turn*, by an access to an atomic of the table. After that, the operation works on
//! words of the machine, and no other thread comes in between.
//!
//! An operation that takes effect at several instants takes several turns: as few as are needed to show other threads
//! what they may see of it.
//!
//! | operation | turns |
//! |---|---|
//! | a lookup, figures, an insert, a removal, a replacement, `reserve`, with all splits and hops of a kick | one |
//! | a batch | one for each item |
//! | `age` | one: an item has one entry, whose stamp was there at some instant |
//! | `get` | two: the values of a key are not read at one instant |
//! | `update` | two: a lookup of one value, and a replacement. If another thread was faster, two more |
//! | `update_or_insert` | two: those of `update`, or a lookup that finds no value and an insert. If another thread was faster, two more |
//! | `snapshot`, `try_clone` | one |
//! | `merge` | one at the other table, as a snapshot; two at this one: of the first entry, and of all others |
//! | `unmerge` | one at the other table, as a snapshot; at this one, one before the first entry, and one for each entry |
//! | `intersect` | one at each of the two tables; one more for each entry that it takes out of the stash |
//! | `overlap` | one at each of the two tables |
//! | `clear`, `remove_value`, `update_values`, `advance` | two: one for all stripes that have something to remove or to change, except the last of them, and one for that stripe. So between the turns some entries are left, and not all. (`clear`: buckets instead of stripes.) |
//!
//! An `advance` that ends several generations takes as many turns as that number of calls. If it ends N or more, it
//! takes those of a `clear`. Rare cases take more turns: one for each entry that a failing merge takes back, and one
//! for each entry of the stash that has the removed value.
//!
//! # Waiting
//!
//! An operation that holds locks for several turns keeps others waiting:
//!
//! | operation | keeps waiting |
//! |---|---|
//! | `clear`, which holds all locks | every operation that takes a lock |
//! | a merge, `remove_value`, `update_values`, `advance`, the end of a snapshot | each other |
//! | a snapshot | the next snapshot |
//!
//! So an operation that needs one of these locks calls `lock`. An operation that needs a stripe has called
//! `take_locked` or `take_to_store` since it waited last. **The rule:** while an operation has no turn, it does not
//! wait for a lock that a thread without a turn may hold. In a model, a lock that is held in spite of the rule causes a
//! panic.
//!
//! # Order of memory
//!
//! A turn orders nothing. An answer orders only what it promises, so that a model finds code that relies on more.
//!
//! | answer | of | promises |
//! |---|---|---|
//! | found | `contains`, `count`, `get`, `remove`, `replace`, `snapshot`; `insert_if_absent`, if nothing was inserted; `age`; `insert` of an expiring filter, if the item was seen | Acquire: a thread that finds an item sees what was done before its insert |
//! | stored | `insert` (of an expiring filter, if the item is new), `insert_if_absent`, `replace`, each entry of a `merge` | Release: pairs with the operation that finds the item |
//! | all others | an item is absent; an insert that fails; a removal, which no answer reveals; `clear`, `remove_value`, `update_values`, `advance`, `reserve`, figures | nothing |
//!
//! A table is one object: an operation that finds an item is ordered after all stores into the table before that, not
//! only after the insert of this item.

#[cfg_attr(all(loom, feature = "loom", not(coucal_model)), path = "turns/loom.rs")]
#[cfg_attr(not(all(loom, feature = "loom", not(coucal_model))), path = "turns/none.rs")]
mod chosen;

#[cfg(all(loom, feature = "loom", not(coucal_model)))]
pub(super) mod locks;

pub(crate) use chosen::{StepsToStore, Turns};
