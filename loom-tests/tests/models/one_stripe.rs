//! Both buckets of an item have one stripe, as in small tables, and at times in large ones.

use coucal::Growable;
use loom_tests::model::*;

use crate::expiry::{ages, one_kick_in_growing};
use crate::growth::one_split;
use crate::one_hop;

growing_models! {
    // An insert of `new` moves `moved` from one bucket of the stripe to another.
    kick_against_lookup: [moved, new, _] = one_hop::<Growable<L>>(0, 3)
        => [insert(new)] || [contains(moved)], 380, 3, on_one_stripe;
    kick_beside_an_insert_if_absent: [moved, new, _] = one_hop::<Growable<L>>(0, 3)
        => [insert(new)] || [does(move |t| !t.insert_if_absent(moved))], 90, 3, on_one_stripe;
    kick_beside_a_removal: [moved, new, _] = one_hop::<Growable<L>>(3, 0)
        => [insert(new)] || [remove(moved)], 560, 3, on_one_stripe;
    // The old bucket and the new one.
    split_beside_a_removal: [goes, stays] = one_split::<L>(0)
        => [split(1)] || [remove(goes), contains(stays)], 19_000, 3, on_one_stripe;
    // An insert of `new` moves x1, which is being removed.
    kick_beside_a_sweep: [x1, new] = one_kick_in_growing::<L>()
        => [insert(new)] || [remove_value(x1, 1)], 2200, 3, on_one_stripe;
    kick_beside_a_change: [x1, x2, new] = ages(one_kick_in_growing::<L>())
        => [insert(new)] || [age_values([[x1, x2]])], 1150, 3, on_one_stripe;
}
