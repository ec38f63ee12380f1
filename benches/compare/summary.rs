//! The summary at the head of the page: for each peer how it compares, and where it is ahead.

use std::fmt::Write as _;

use coucal_measure::text::{cell, power, wrapped};

use crate::contenders::{COUCAL, ENTRANTS, Entrant};
use crate::results::Results;

/// Figures of one thread and their names in a sentence; the first four are given as ranges.
const TIMES: [(&str, &str); 8] = [
    ("miss", "misses"),
    ("hit", "hits"),
    ("fill", "inserts"),
    ("remove", "removals"),
    ("half", "mixed lookups"),
    ("insert 90-95 %", "inserts at 90 to 95 % load"),
    ("unique new", "`insert_unique` of new items"),
    ("unique present", "`insert_unique` of present items"),
];
const RANGES: usize = 4;
/// A smaller advantage than this is within the noise.
const NOISE: f64 = 0.02;

/// One line for each peer for which there are figures; empty if there are none.
pub fn markdown(results: &Results) -> String {
    let sizes: Vec<_> = results.slots_with("load").into_iter().map(power).collect();
    let lines: Vec<_> = ENTRANTS[1..]
        .iter()
        .filter(|entrant| !entrant.name().starts_with(COUCAL))
        .filter_map(|entrant| line(results, entrant))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let mut text = String::from("## Summary\n\n");
    text += &wrapped(&format!(
        "How many times as fast as each peer coucal is, on one thread, from the lowest to the highest \
         ratio over the table sizes ({} slots); below 1 the peer is faster. Then the figures in \
         which the peer is ahead by more than {:.0} %, with the largest factor.",
        sizes.join(", "),
        100.0 * NOISE
    ));
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
    text + "\n"
}

fn line(results: &Results, entrant: &Entrant) -> Option<String> {
    let name = entrant.name();
    let ranges: Vec<_> =
        TIMES[..RANGES].iter().filter_map(|time| range(results, name, *time)).collect();
    if ranges.is_empty() {
        return None;
    }
    let bits = results.slots_with("bits per item").into_iter();
    let bits: Vec<_> =
        bits.filter_map(|slots| results.at(slots, 1).median(name, "bits per item")).collect();
    let ahead = ahead(results, name);
    let ahead = if ahead.is_empty() {
        "Never ahead.".to_owned()
    } else {
        format!("**Ahead of coucal on: {}.**", ahead.join(", "))
    };
    let bits =
        if bits.is_empty() { String::new() } else { format!("; {} bits per item", span(&bits, 1)) };
    Some(format!("`{name}` ({}): {}{bits}. {ahead}", entrant.contender.what, ranges.join(", ")))
}

/// `1.2` or `1.2–3.4`.
fn span(values: &[f64], decimals: usize) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let [low, high] = [low, high].map(|value| cell(Some(value), decimals));
    if low == high { low } else { format!("{low}–{high}") }
}

/// The ratios of a figure over the table sizes.
fn ratios(results: &Results, peer: &str, figure: &str) -> Vec<(u64, f64)> {
    let ratio =
        |slots: u64| Some((slots, results.at(slots, 1).ratio((peer, figure), (COUCAL, figure))?));
    results.slots_with(figure).into_iter().filter_map(ratio).collect()
}

fn range(results: &Results, peer: &str, (figure, words): (&str, &str)) -> Option<String> {
    let ratios: Vec<_> = ratios(results, peer, figure).iter().map(|ratio| ratio.1).collect();
    (!ratios.is_empty()).then(|| format!("{words} {}", span(&ratios, 2)))
}

/// Everything in which the peer is better.
fn ahead(results: &Results, peer: &str) -> Vec<String> {
    let better = |ratio: &(u64, f64)| ratio.1 < 1.0 - NOISE;
    let told = |words: &str, ratios: Vec<(u64, f64)>| {
        let ratios: Vec<_> = ratios.into_iter().filter(better).collect();
        let most = ratios.iter().map(|ratio| 1.0 / ratio.1).reduce(f64::max)?;
        let sizes: Vec<_> = ratios.iter().map(|ratio| power(ratio.0)).collect();
        Some(format!("{words} at {} ({most:.2} times)", sizes.join(" and ")))
    };
    let times =
        TIMES.iter().filter_map(|(figure, words)| told(words, ratios(results, peer, figure)));
    let space = told("bits per item", {
        let bits = |slots: u64| {
            let view = results.at(slots, 1);
            let bits = "bits per item";
            Some((slots, view.ratio((peer, bits), (COUCAL, bits))?))
        };
        results.slots_with("bits per item").into_iter().filter_map(bits).collect()
    });
    times.chain(space).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contenders::{BLOOM, SEQUENTIAL};

    #[test]
    fn losses_are_listed() {
        let mut results = Results::default();
        for (slots, ours, theirs) in [(1 << 18, 4.0, 8.0), (1 << 24, 50.0, 25.0)] {
            results.push((slots, 1), COUCAL, "miss", ours);
            results.push((slots, 1), SEQUENTIAL, "miss", theirs);
            results.push((slots, 1), COUCAL, "load", 0.95);
        }
        results.push((1 << 24, 1), COUCAL, "fill", 100.0);
        results.push((1 << 24, 1), BLOOM, "fill", 400.0);
        let text = markdown(&results);
        assert!(text.contains("misses 0.50–2.00"), "{text}");
        assert!(text.contains("Ahead of coucal on: misses at 2^24 (2.00 times)"), "{text}");
        assert!(text.contains("inserts 4.00. Never ahead."), "{text}");
    }
}
