//! The figures of the cookbook. Its code runs as documentation tests.

use coucal::CuckooFilter;

/// The cells of a row of a table, without the one that names the row.
fn row<'a>(page: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let start = format!("| {name} | ");
    let row = page.lines().find_map(|line| line.strip_prefix(&start));
    row.unwrap_or_else(|| panic!("no row {name:?}")).trim_end_matches(" |").split(" | ")
}

#[test]
fn the_bytes_of_small_filters() {
    let page = include_str!("../../docs/cookbook.md");
    let cells = row(page, "items").zip(row(page, "bytes")).zip(row(page, "bits per item"));
    let mut sizes = 0;
    for ((items, bytes), bits) in cells {
        let number = |text: &str| text.replace(',', "").parse::<usize>().expect("a number");
        let items = number(items);
        let filter: CuckooFilter = CuckooFilter::with_capacity(items);
        assert_eq!(number(bytes), filter.memory_bytes(), "bytes of {items} items");
        let exact = filter.memory_bytes() as f64 * 8.0 / items as f64;
        let decimals = bits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        assert_eq!(bits, format!("{exact:.decimals$}"), "bits per item of {items} items");
        sizes += 1;
    }
    assert_eq!(sizes, 5);
}
