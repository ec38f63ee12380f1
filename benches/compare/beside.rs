//! One thread measured beside another: lookups while another thread writes, grows the table or takes snapshots; and the
//! times of single operations.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use coucal_benches::keys::CHUNK;
use hdrhistogram::Histogram;

use crate::Plan;
use crate::pieces::{self, Counted, Meter, Piece, Turns, count};
use crate::results::{Place, Results, View};
use crate::subject::{Operation, Step, Subject, Window, Work};

pub const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];
/// For an operation that took longer than this, the program asks how long its thread waited for a processor.
const LONG_NANOS: u64 = 10_000;
/// The maximum time of one run: behind some locks, readers hardly get a turn.
const MAX_RUN: Duration = Duration::from_secs(4);

pub fn percentile(scene: &str, percentile: f64) -> String {
    format!("{scene}: {percentile} %")
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are in order")
}

/// Returns the median time of reading the clock alone.
fn clock_overhead() -> u64 {
    let mut histogram = histogram();
    for _ in 0..1 << 16 {
        let started = Instant::now();
        histogram.saturating_record(started.elapsed().as_nanos() as u64);
    }
    histogram.value_at_quantile(0.5)
}

/// The times of single operations, each without the time that its thread waited for a processor.
pub struct Singles {
    pub histogram: Histogram<u64>,
    turns: Turns,
    waited: u64,
}

impl Singles {
    /// Makes one for the calling thread.
    pub fn of_this_thread() -> Self {
        let mut turns = Turns::of_this_thread();
        let waited = turns.read().0;
        Self { histogram: histogram(), turns, waited }
    }

    /// Ignores everything that was done before.
    pub fn begin(&mut self) {
        self.waited = self.turns.read().0;
    }

    /// Returns the operation's own time.
    pub fn took(&mut self, nanos: u64) -> u64 {
        if nanos < LONG_NANOS {
            return nanos;
        }
        let before = self.waited;
        self.begin();
        nanos.saturating_sub(self.waited - before)
    }

    pub fn push_percentiles(&self, place: Place, name: &str, scene: &str, results: &mut Results) {
        let overhead = clock_overhead();
        for percent in PERCENTILES {
            let nanos = self.histogram.value_at_percentile(percent).saturating_sub(overhead);
            results.push(place, name, &percentile(scene, percent), nanos as f64);
        }
    }
}

/// Does a little work, repeatedly. Returns the number of items that it inserted.
pub type Background<'a, 'b> = &'a mut (dyn FnMut() -> u64 + Send + 'b);

type Role<'a> = Box<dyn FnOnce(&mut Meter) + Send + 'a>;

/// A writer that removes its oldest items and inserts new ones.
pub fn churn<'a>(
    table: &'a (dyn Subject + Sync),
    window: &'a mut Window,
) -> impl FnMut() -> u64 + Send + 'a {
    || {
        let steps = window.moves(64);
        table.work(Work::Steps(&steps));
        steps.len() as u64 / 2
    }
}

/// Runs both until the foreground has finished, and returns the pieces of both.
pub fn both(
    foreground: impl FnOnce(&mut Meter) + Send,
    background: Option<Background<'_, '_>>,
) -> Vec<Vec<Piece>> {
    let stop = AtomicBool::new(false);
    let mut roles: Vec<Role> = vec![Box::new(|meter| {
        foreground(meter);
        stop.store(true, Ordering::Relaxed);
    })];
    if let Some(work) = background {
        roles.push(Box::new(|meter| {
            while !stop.load(Ordering::Relaxed) {
                meter.add(work() as usize);
            }
        }));
    }
    pieces::run(roles, |role, meter| role(meter))
}

/// The items to look up, and the table.
pub struct Lookups<'a> {
    pub place: Place,
    pub name: &'a str,
    pub table: &'a (dyn Subject + Sync),
    pub keys: &'a [u64],
}

impl Lookups<'_> {
    /// Measures lookups in a loop, then one by one, both beside the background.
    pub fn measure(
        &self,
        plan: &Plan,
        scene: &str,
        mut background: Option<Background<'_, '_>>,
        results: &mut Results,
    ) {
        let Self { place, name, table, keys } = *self;
        let duration = Duration::from_micros(plan.operations / 2);
        let in_a_loop = |meter: &mut Meter| {
            let started = Instant::now();
            for chunk in keys.chunks(CHUNK).cycle() {
                black_box(table.run(Operation::Contains, chunk));
                meter.add(chunk.len());
                if started.elapsed() > duration {
                    break;
                }
            }
        };
        let counted = count(&both(in_a_loop, background.as_deref_mut()));
        // A piece of the lookups counts if the background had its processor, too.
        results.push_counted(place, name, &rate(scene), counted[0]);
        if let Some(Counted { rate, .. }) = counted.get(1) {
            results.push(place, name, &format!("{scene}: inserts Mops/s"), *rate);
        }
        // Of the thread of the lookups.
        let mut singles = None;
        let timed = |_: &mut Meter| {
            let singles = singles.insert(Singles::of_this_thread());
            let started = Instant::now();
            for chunk in keys.chunks(CHUNK) {
                let steps: Vec<_> = chunk.iter().map(|key| Step::Look(*key)).collect();
                singles.begin();
                table.work(Work::Timed(&steps, &mut |_, _, nanos| {
                    let own = singles.took(nanos);
                    singles.histogram.saturating_record(own);
                }));
                if started.elapsed() > MAX_RUN {
                    break;
                }
            }
        };
        both(timed, background);
        let singles = singles.expect("the lookups have run");
        singles.push_percentiles(place, name, scene, results);
    }
}

fn rate(scene: &str) -> String {
    format!("{scene}: lookups Mops/s")
}

pub const COLUMNS: [&str; 5] =
    ["ns in a loop", "50 %, ns", "99 %, ns", "99.9 %, ns", "million inserts/s beside it"];

/// Returns the values of the columns, for lookups in a scene.
pub fn values(view: View, name: &str, scene: &str) -> [Option<f64>; 5] {
    let nanos = view.median(name, &rate(scene)).map(|millions| 1e3 / millions);
    let [half, most, nearly_all] =
        PERCENTILES.map(|percent| view.median(name, &percentile(scene, percent)));
    let inserts = view.median(name, &format!("{scene}: inserts Mops/s"));
    [nanos, half, most, nearly_all, inserts]
}
