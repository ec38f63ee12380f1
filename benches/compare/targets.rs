//! The targets of the filter, as ratios inside one run, and what it reaches.

use coucal_measure::text::power;

use crate::concurrent::{SCENES, latency_figure};
use crate::contenders::{ATOMIC, BLOOM, COUCAL, QUOTIENT, SCALABLE, SEQUENTIAL};
use crate::limits::TWO_LOADS;
use crate::results::{Results, View};
use crate::single::AT_HALF;

const LOOKUPS: [&str; 3] = ["miss", "hit", "half"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    AtMost,
    AtLeast,
}

pub struct Target {
    pub figure: String,
    sense: Sense,
    goal: f64,
    unit: &'static str,
    reached: Option<f64>,
}

impl Target {
    pub fn goal(&self) -> String {
        let sense = if self.sense == Sense::AtMost { "at most" } else { "at least" };
        format!("{sense} {}{}", self.goal, self.unit)
    }

    pub fn reached(&self) -> String {
        self.reached
            .map_or_else(|| "not measured".into(), |value| format!("{value:.2}{}", self.unit))
    }

    pub fn met(&self) -> &'static str {
        match (self.reached, self.sense) {
            (None, _) => "–",
            (Some(value), Sense::AtMost) if value <= self.goal => "yes",
            (Some(value), Sense::AtLeast) if value >= self.goal => "yes",
            _ => "**no**",
        }
    }
}

#[derive(Default)]
pub struct List(pub Vec<Target>);

impl List {
    pub fn at_most(&mut self, goal: f64, reached: Option<f64>, figure: String) {
        self.0.push(Target { figure, sense: Sense::AtMost, goal, unit: "", reached });
    }

    pub fn at_most_micros(&mut self, goal: f64, reached: Option<f64>, figure: String) {
        self.0.push(Target { figure, sense: Sense::AtMost, goal, unit: " µs", reached });
    }

    pub fn at_least(&mut self, goal: f64, reached: Option<f64>, figure: String) {
        self.0.push(Target { figure, sense: Sense::AtLeast, goal, unit: "", reached });
    }

    /// How many times as fast as a peer coucal is.
    fn faster(&mut self, view: View, size: &str, goal: f64, operation: &str, peer: &str) {
        if view.runs(peer, operation).is_empty() {
            return;
        }
        let reached = view.ratio((peer, operation), (COUCAL, operation));
        self.at_least(goal, reached, format!("{operation}, against {peer}, {size}"));
    }

    fn lookups(&mut self, view: View, slots: u64, size: &str) {
        // Beyond 2^20 slots the table is out of the inner caches.
        let goal = if slots > 1 << 20 { 1.4 } else { 2.0 };
        for operation in LOOKUPS {
            let reached = view.ratio((COUCAL, operation), (TWO_LOADS, operation));
            self.at_most(goal, reached, format!("{operation}, against two random loads, {size}"));
        }
        let reached = view.ratio((COUCAL, "half"), (COUCAL, "miss"));
        self.at_most(1.1, reached, format!("half, against miss, {size}"));
        for operation in ["miss", "hit"] {
            self.faster(view, size, 5.0, operation, ATOMIC);
        }
        for operation in LOOKUPS {
            self.faster(view, size, 1.0, operation, SEQUENTIAL);
            self.faster(view, size, 2.0, operation, SCALABLE);
            self.faster(view, size, 2.0, operation, QUOTIENT);
        }
        for operation in ["miss", "hit"] {
            self.faster(view, size, 1.0, operation, BLOOM);
        }
    }
}

/// Every target for which something was measured.
pub fn all(results: &Results) -> Vec<Target> {
    let mut list = List::default();
    for slots in results.slots_with("miss") {
        list.lookups(results.at(slots, 1), slots, &format!("{} slots", power(slots)));
    }
    for slots in results.slots_with("bits per item") {
        let view = results.at(slots, 1);
        if view.runs(BLOOM, "bits per item").is_empty() {
            continue;
        }
        let reached = view.ratio((COUCAL, "bits per item"), (BLOOM, "bits per item"));
        list.at_most(1.0, reached, format!("bits per item, against {}, {}", BLOOM, power(slots)));
    }
    for slots in results.slots_with("remove") {
        let size = format!("{} slots", power(slots));
        list.faster(results.at(slots, 1), &size, 4.0, "remove", ATOMIC);
    }
    for slots in results.slots_with("fill") {
        let (view, size) = (results.at(slots, 1), format!("{} slots", power(slots)));
        let large = slots > 1 << 20;
        list.faster(view, &size, if large { 4.0 } else { 2.5 }, "fill", ATOMIC);
        list.faster(view, &size, if large { 9.0 } else { 5.0 }, "insert 90-95 %", ATOMIC);
        if large {
            list.faster(view, &size, 2.0, "fill", QUOTIENT);
            list.faster(view, &size, 2.0, "fill", SCALABLE);
        }
    }
    batches(results, &mut list);
    removals(results, &mut list);
    for slots in results.slots_with("failed insert us") {
        let reached = results.at(slots, 1).median(COUCAL, "failed insert us");
        let figure = format!("an insert into a full filter, {} slots", power(slots));
        list.at_most_micros(5.0, reached, figure);
    }
    latency(results, &mut list);
    list.0
}

fn batches(results: &Results, list: &mut List) {
    for slots in results.slots_with("contains_many + branch").into_iter().filter(|s| *s > 1 << 24) {
        let view = results.at(slots, 1);
        let reached = view.ratio((COUCAL, "contains + branch"), (COUCAL, "contains_many + branch"));
        let size = power(slots);
        list.at_least(1.5, reached, format!("contains_many, against the loop, {size} slots"));
    }
    for slots in results.slots_with("insert_many").into_iter().filter(|s| *s > 1 << 20) {
        let reached = results.at(slots, 1).ratio((COUCAL, "insert loop"), (COUCAL, "insert_many"));
        let size = power(slots);
        list.at_least(2.0, reached, format!("insert_many, against the loop, {size} slots"));
    }
}

/// Removals beside inserts. In cache an insert takes a few nanoseconds, and a removal looks first.
fn removals(results: &Results, list: &mut List) {
    for [(insert, _), (remove, _)] in AT_HALF {
        for slots in results.slots_with(remove).into_iter().filter(|s| *s > 1 << 20) {
            let reached = results.at(slots, 1).ratio((COUCAL, remove), (COUCAL, insert));
            list.at_most(
                1.15,
                reached,
                format!("{remove}, against {insert}, {} slots", power(slots)),
            );
        }
    }
}

fn latency(results: &Results, list: &mut List) {
    let [quiet, _, here] = SCENES.map(|scene| latency_figure(scene, 99.9));
    for slots in results.slots_with(&quiet) {
        let reached = results.at(slots, 2).ratio((COUCAL, &here), (COUCAL, &quiet));
        let figure = "99.9th percentile of a lookup, beside a kicking writer against none";
        list.at_most(2.0, reached, figure.into());
    }
}
