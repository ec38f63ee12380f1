//! The figures of the cookbook, and the form of the cookbook and the README. Their code runs as documentation tests.

use coucal::{
    CuckooFilter, CuckooMaplet, Error, ExpiringCuckooFilter, Figures, Fp16x4, Fp32x2,
    GrowableCuckooFilter, GrowableCuckooMaplet, GrowableExpiringCuckooFilter,
};

/// Returns the cells of a row of a table, except the one that names the row.
fn row<'a>(page: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let start = format!("| {name} | ");
    let row = page.lines().find_map(|line| line.strip_prefix(&start));
    row.unwrap_or_else(|| panic!("no row {name:?}")).trim_end_matches(" |").split(" | ")
}

#[test]
fn the_bytes_of_small_filters() {
    if cfg!(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), coucal_portable)) {
        return; // where there is no prefetch for a write, a filter takes 8 bytes less; on 32 bits all sizes are others
    }
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

/// For ten million items: at a rate of 0.1 %, and in the default layout.
#[test]
fn the_cookbook_says_what_figures_tell() {
    const ITEMS: usize = 10_000_000;
    let builder = CuckooFilter::builder().capacity(ITEMS);
    let chosen = builder.clone().false_positive_rate(0.001).any_layout().figures(ITEMS).unwrap();
    let growing = GrowableCuckooFilter::builder().layout::<Fp16x4>().figures(ITEMS).unwrap();
    let megabytes = [chosen, builder.figures(ITEMS).unwrap(), growing].map(|figures| {
        [figures.memory_bytes, figures.snapshot_bytes].map(|bytes| bytes as f64 / 1e6)
    });
    let page = include_str!("../../docs/cookbook.md");
    for (told, (size, text)) in megabytes.into_iter().zip([
        (16.5, "Both sizes are some 16.5 MB for 10 million items at a rate of 0.1 %"),
        (21.0, "they are some 21 MB at a fixed size"),
        (27.0, "and some 27 MB in a growing filter"),
    ]) {
        assert!(page.contains(text), "{text}");
        assert!(told.iter().all(|told| (told / size - 1.0).abs() < 0.03), "{text}: {told:?}");
    }
}

/// The README rounds what `figures` tells of a million items: bits per item of each type, and rates.
#[test]
fn the_readme_says_what_figures_tell() {
    const ITEMS: usize = 1_000_000;
    let readme = include_str!("../../README.md");
    let fixed = CuckooFilter::builder().capacity(ITEMS).figures(ITEMS).unwrap();
    let growing = GrowableCuckooFilter::builder().figures(ITEMS).unwrap();
    let both = |fixed: Figures, growing: Figures| {
        format!("{:.0}; growing {:.0}", fixed.bits_per_item, growing.bits_per_item)
    };
    let expiring = both(
        ExpiringCuckooFilter::builder().capacity(ITEMS).generations(10).figures(ITEMS).unwrap(),
        GrowableExpiringCuckooFilter::builder().generations(10).figures(ITEMS).unwrap(),
    );
    let maplet = both(
        CuckooMaplet::builder().value_bits(6).capacity(ITEMS).figures(ITEMS).unwrap(),
        GrowableCuckooMaplet::builder().value_bits(6).figures(ITEMS).unwrap(),
    );
    for (name, bits) in [
        ("GrowableCuckooFilter", format!("{:.0}", growing.bits_per_item)),
        ("CuckooFilter", format!("{:.0}", fixed.bits_per_item)),
        ("ExpiringCuckooFilter", expiring),
        ("CuckooMaplet", maplet),
    ] {
        let mut rows = readme.lines().filter(|line| line.starts_with(&format!("| `{name}` |")));
        let row = rows.next().expect("a row of this type");
        assert!(row.ends_with(&format!("| {bits} |")), "{row} has {bits} bits");
    }
    let rate = |figures: Figures| 100.0 * figures.false_positive_rate;
    let one_in = 10.0 * (10.0 / rate(growing)).round();
    let builder = GrowableCuckooFilter::builder().false_positive_rate(0.001).any_layout();
    for stated in [
        format!("{:.2} % of absent items as present (one in {one_in})", rate(growing)),
        format!("a full `CuckooFilter` {:.3} %", rate(fixed)),
        format!("takes {:.0} bits per item", builder.figures(ITEMS).unwrap().bits_per_item),
    ] {
        let words = readme.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&stated), "not in the README: {stated}");
    }
}

/// The cookbook says what counters of 8 bits cost in a growing maplet of a million keys.
#[test]
fn the_costs_of_growing_counters() {
    const KEYS: usize = 1_000_000;
    let builder = GrowableCuckooMaplet::builder().value_bits(8);
    let plain = builder.clone().figures(KEYS).unwrap();
    let exact = builder.layout::<Fp32x2>().figures(KEYS).unwrap();
    let bytes = |figures: Figures| (figures.bits_per_item / 8.0).round();
    let one_in = 100_000.0 * (1e-5 / exact.false_positive_rate).round();
    let stated = format!(
        "takes {} bytes per key and has a counter for {:.1} % of other keys; with the layout `Fp32x2` it \
         takes {} bytes, and has one for one in {one_in}.",
        bytes(plain),
        100.0 * plain.false_positive_rate,
        bytes(exact),
    );
    let page = include_str!("../../docs/cookbook.md");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ").replace("200,000", "200000");
    assert!(words.contains(&stated), "not in the cookbook: {stated}");
}

/// The type of growing maplets states the rates of its default layout, for all values with which growth does not end
/// early.
#[test]
fn the_rates_of_growing_maplets() {
    let page = include_str!("../../src/kinds/maplet.rs");
    for bits in 1..=9 {
        let figures = GrowableCuckooMaplet::builder().value_bits(bits).figures(10_000_000).unwrap();
        assert_eq!(figures.layout_name, "Fp21x3");
        assert!((28.0..31.0).contains(&figures.bits_per_item), "{figures:?}");
        let row = format!("/// | {bits} | {} |", percent(figures));
        assert!(page.lines().any(|line| line == row), "the row is {row:?}");
    }
    let error = GrowableCuckooMaplet::builder().value_bits(10).figures(0).unwrap_err();
    assert!(matches!(error, Error::ValueBitsOutOfRange { max: 9, max_with_end: 14, .. }));
}

/// The rate, with two digits.
fn percent(figures: Figures) -> String {
    let percent = 100.0 * figures.false_positive_rate;
    let decimals = (1.0 - percent.log10().floor()) as usize;
    format!("{percent:.decimals$} %")
}

/// The type of growing expiring filters states the rates of its default layout, which has room for all generations.
#[test]
fn the_rates_of_growing_generations() {
    let page = include_str!("../../src/kinds/expiring.rs");
    let endless = usize::try_from(1_u64 << 43).unwrap_or(usize::MAX);
    for generations in 2..=256_u32 {
        let builder = GrowableExpiringCuckooFilter::builder().generations(generations);
        let figures = builder.figures(10_000_000).unwrap();
        assert!(figures.layout_name == "Fp21x3" && figures.max_capacity >= endless, "{figures:?}");
        assert!((28.0..29.5).contains(&figures.bits_per_item), "{figures:?}");
        let most = generations.next_power_of_two();
        let numbers = match most {
            2 => "2".to_owned(),
            4 => "3 or 4".to_owned(),
            most => format!("{} to {most}", most / 2 + 1),
        };
        let row = format!("/// | {numbers} | {} |", percent(figures));
        assert!(page.lines().any(|line| line == row), "the row is {row:?}");
    }
}

/// The page of the crate is short: without its code, and without the targets of links, it has 2,000 words.
#[test]
fn the_page_of_the_crate_has_2000_words() {
    let source = include_str!("../../src/lib.rs");
    let mut code = false;
    let lines = source.lines().filter_map(|line| line.strip_prefix("//!")).filter(|line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !(code || fence)
    });
    let page: String = lines.flat_map(|line| [line, "\n"]).collect();
    let mut links = page.split("](");
    let first = links.next().unwrap().to_owned();
    let text = links.fold(first, |text, rest| text + rest.split_once(')').unwrap().1);
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    let words = text.split([' ', '\n', '|']).filter(is_word).count();
    assert!((1500..=2000).contains(&words), "{words} words");
}

/// The README is short and complete: the hosting site shows the lines that rustdoc would hide.
#[test]
fn the_readme_has_900_words_and_no_hidden_lines() {
    let readme = include_str!("../../README.md");
    let words = readme.split_whitespace().count();
    assert!(words <= 900, "{words} words");
    for page in [readme, include_str!("../../docs/cookbook.md")] {
        let mut code = false;
        for line in page.lines() {
            code ^= line.starts_with("```");
            assert!(!(code && line.starts_with("# ")), "{line:?} is a hidden line");
        }
    }
}
