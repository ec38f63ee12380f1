//! The guard on a real machine.

use std::thread;

use coucal::StableHashBuilder;

use crate::Guard;

const WORKERS: u64 = 4;
const ROUNDS: u64 = 20;
const KEYS: u64 = 500;

#[test]
fn workers_beside_each_other() {
    let guard = Guard::new(StableHashBuilder::default());
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let guard = &guard;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    for key in 0..KEYS {
                        // Of all workers: anybody may delete it.
                        guard.insert(key, "shared").unwrap();
                        // Of this worker: nobody else deletes it, so it is found whatever others do.
                        let own = (worker + 1) * KEYS + key;
                        assert_eq!(guard.insert(own, "own"), Ok(true));
                        assert_eq!(guard.get(own).as_deref(), Some("own"));
                        if round + 1 < ROUNDS {
                            assert!(guard.delete(own));
                        }
                        guard.delete(key);
                    }
                }
            });
        }
    });
    // Nobody writes any more: now numbers are exact.
    let rows = guard.store.lock().unwrap().len();
    assert_eq!(rows as u64, WORKERS * KEYS);
    assert_eq!(guard.filter.len(), rows);
    let keys: Vec<_> = guard.store.lock().unwrap().keys().copied().collect();
    for key in keys {
        assert!(guard.get(key).is_some() && guard.delete(key));
    }
    assert!(guard.filter.is_empty());
}
