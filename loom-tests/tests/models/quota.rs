//! Generations that end after a number of new items, while several threads store them.

use coucal::Layout;
use coucal::probe::Expiring;
use loom_tests::model::Setup;

models_of_three! {
    two_new_items_of_one_generation
    three_new_items_where_two_end_a_generation
    two_new_items_of_two_generations
    new_item_beside_an_advance
}

/// The second of them ends the generation, and both are remembered: they belong to that generation or to the next.
fn two_new_items_of_one_generation<L: Layout>() {
    let mut setup = Setup::<Expiring<L, 2>>::new(2);
    let items = setup.items([(0, 1), (1, 0)]);
    setup.generations(3).check_asserted(100, 2, move |model| {
        for item in items {
            model.thread(move |t| assert!(t.remember(item)));
        }
        move |t| {
            assert_eq!(t.generation(), 1);
            assert!(items.into_iter().all(|item| t.is_remembered(item)));
        }
    });
}

/// The third item may be stored while the generation ends: it ends no other one.
fn three_new_items_where_two_end_a_generation<L: Layout>() {
    let mut setup = Setup::<Expiring<L, 2>>::new(2);
    let items @ [first, second, third] = setup.items([(0, 1), (1, 0), (0, 1)]);
    setup.generations(3).check_asserted(2500, 2, move |model| {
        model.thread(move |t| assert!(t.remember(first) && t.remember(second)));
        model.thread(move |t| assert!(t.remember(third)));
        move |t| {
            assert_eq!(t.generation(), 1);
            assert!(items.into_iter().all(|item| t.is_remembered(item)));
        }
    });
}

/// Each ends a generation; or the second one is counted while the first one ends the generation, or finds that the
/// generation of its item has ended. The count is right afterwards: the next item ends one more.
fn two_new_items_of_two_generations<L: Layout>() {
    let mut setup = Setup::<Expiring<L, 1>>::new(2);
    let items @ [.., last] = setup.items([(0, 1), (1, 0), (0, 1)]);
    setup.generations(4).check_asserted(100, 2, move |model| {
        for item in items.into_iter().take(2) {
            model.thread(move |t| assert!(t.remember(item)));
        }
        move |t| {
            let ended = t.generation();
            assert!((1..=2).contains(&ended));
            assert!(t.remember(last));
            assert_eq!(t.generation(), ended + 1);
            assert!(items.into_iter().all(|item| t.is_remembered(item)));
        }
    });
}

/// Another thread ends the generation: so it ends once or twice, and the item outlives both.
fn new_item_beside_an_advance<L: Layout>() {
    let mut setup = Setup::<Expiring<L, 1>>::new(2);
    let x = setup.item(0, 1);
    setup.generations(4).check_asserted(100, 2, move |model| {
        model.thread(move |t| assert!(t.remember(x)));
        model.thread(|t| t.end_generation());
        move |t| {
            assert!((1..=2).contains(&t.generation()));
            assert!(t.is_remembered(x));
        }
    });
}
