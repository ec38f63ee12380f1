//! What the paper reports and this evaluation quotes. Nothing in this file is measured.

/// The load factors that long fingerprints reach, by slots per bucket (section 5.1).
pub fn load_of_slots(slots: usize) -> Option<f64> {
    match slots {
        2 => Some(0.84),
        4 => Some(0.95),
        8 => Some(0.98),
        _ => None,
    }
}

/// A row of table 3, at 192 MiB.
pub struct Construction {
    pub name: &'static str,
    pub million_items: f64,
    pub bits_per_item: f64,
    pub rate: f64,
    pub million_per_second: f64,
}

/// Table 3 of the paper.
pub const TABLE_3: [Construction; 2] = [
    Construction {
        name: "cuckoo, 12 bits, 4 slots (paper)",
        million_items: 127.78,
        bits_per_item: 12.60,
        rate: 0.0019,
        million_per_second: 5.00,
    },
    Construction {
        name: "semi-sorted cuckoo, 13 bits, 4 slots (paper)",
        million_items: 128.04,
        bits_per_item: 12.58,
        rate: 0.0009,
        million_per_second: 3.13,
    },
];

/// The same from the authors' program `conext-table3`, which states it for a Core i7-4790.
pub const TABLE_3_PROGRAM: [Construction; 2] = [
    Construction {
        name: "cuckoo, 12 bits, 4 slots (the authors' program)",
        million_items: 127.82,
        bits_per_item: 12.60,
        rate: 0.0018,
        million_per_second: 5.86,
    },
    Construction {
        name: "semi-sorted cuckoo, 13 bits, 4 slots (the authors' program)",
        million_items: 127.90,
        bits_per_item: 12.59,
        rate: 0.0009,
        million_per_second: 4.10,
    },
];

/// Figure 5 from the authors' program `conext-figure5`, which states it for a Core i7-4790:
/// million lookups per second, at 0, 25, 50, 75 and 100 % positive queries.
pub const FIGURE_5_PROGRAM: [(&str, [f64; 5]); 2] = [
    ("cuckoo, 12 bits, 4 slots", [26.10, 25.92, 26.00, 25.95, 25.89]),
    ("semi-sorted cuckoo, 13 bits, 4 slots", [10.07, 10.65, 10.65, 10.79, 10.64]),
];

/// What the paper says about a filter for which there is no maintained crate.
pub const D_LEFT: &str = "No maintained crate has a d-left counting Bloom filter. According to the \
     paper it takes 1.5 times the space of a Bloom filter, and a counting Bloom filter 3 to 4 times.";

/// Bits per item of a cuckoo filter for a false-positive rate: the length of the fingerprint for
/// buckets of four slots, divided by the load (table 1). Semi-sorting saves one bit.
pub fn cuckoo_bits(rate: f64, semi_sorted: bool) -> f64 {
    let slots = if semi_sorted { 2.0 } else { 3.0 };
    ((1.0 / rate).log2() + slots) / 0.95
}
