//! Compares the tables of the documentation with the code. (The tests of the contract measure the loads when full.)

use super::CuckooFilter;
use crate::layout::Growth;
use crate::layout::LayoutId::{self, Fp16x4};
use crate::sizing::{self, Sizing};

/// Returns the cells of the table rows in `source` that begin with `start`.
fn table_rows(source: &str, start: &str) -> Vec<Vec<String>> {
    let lines = source.lines().map(str::trim_start).filter(|line| line.starts_with(start));
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches(['/', '!', ' ', '|']).split('|').map(|cell| cell.trim().into()).collect()
    };
    lines.map(cells).collect()
}

fn growth_of(layout: LayoutId) -> Growth {
    layout.properties().growth.expect("a layout that grows")
}

/// Prints a rate in percent, with two digits and without an exponent.
fn percent(rate: f64) -> String {
    let percent = 100.0 * rate;
    let digits = (1.0 - percent.log10().floor()) as usize;
    format!("{percent:.digits$} %")
}

/// Prints the bits per item of the buckets alone.
fn bits_per_item(layout: LayoutId, load: f64) -> String {
    format!("{:.1}", 64.0 / (layout.properties().slots as f64 * load))
}

fn fixed_rate(layout: LayoutId) -> String {
    percent(sizing::false_positive_rate(
        layout.properties(),
        layout.properties().slots as f64 * layout.properties().load,
        0,
    ))
}

/// Returns a row of the table in the documentation of `Layout`, without the load at which a table is full.
fn row(layout: LayoutId) -> [String; 6] {
    [
        format!("[`{}`]", layout.name()),
        layout.properties().slots.to_string(),
        layout.properties().bits.to_string(),
        format!("{} %", 100.0 * layout.properties().load),
        fixed_rate(layout),
        bits_per_item(layout, layout.properties().load),
    ]
}

#[test]
fn the_table_of_layouts_is_right() {
    let mut documented = table_rows(include_str!("../../layout.rs"), "/// | [`").into_iter();
    for layout in LayoutId::ALL {
        let (row, full) = (row(*layout), layout.properties().full);
        let mut cells = documented.next().expect("a row for each layout");
        assert_eq!(cells.remove(3), format!("{:.1} %", 100.0 * full), "{row:?}");
        assert_eq!(cells, row);
    }
    assert_eq!(documented.next(), None);
}

/// Returns the rate of a table that has this load at its first size and at its present one.
fn grown_rate(layout: LayoutId, load: f64, doublings: u32) -> String {
    let first = 1 << 10;
    let items = (first as f64 * layout.properties().slots as f64 * load) as u64;
    let sizing = Sizing {
        target_load: sizing::thousandths(load),
        ..Sizing::of_table(layout, first, first << doublings)
    };
    percent(sizing.false_positive_rate_at(items << doublings))
}

/// Returns a row of the table of layouts in docs/growth.md.
fn growth_row(layout: LayoutId) -> [String; 8] {
    let after = |doublings| grown_rate(layout, growth_of(layout).target_load, doublings);
    [
        format!("`{}`", layout.name()),
        after(0),
        after(3),
        after(9),
        after(20),
        bits_per_item(layout, growth_of(layout).target_load),
        fixed_rate(layout),
        bits_per_item(layout, layout.properties().load),
    ]
}

/// Returns a row of the table in the documentation of `Growable`.
fn growable_row(layout: LayoutId) -> [String; 3] {
    let percent = |load: f64| format!("{} %", (1000.0 * load).round() / 10.0);
    [
        format!("[`{0}`](crate::{0})", layout.name()),
        percent(growth_of(layout).target_load),
        percent(growth_of(layout).max_target_load),
    ]
}

#[test]
fn the_tables_of_growth_are_right() {
    let growing = LayoutId::ALL.iter().filter(|layout| layout.properties().growth.is_some());
    let expected: Vec<_> = growing.clone().map(|&layout| growth_row(layout).to_vec()).collect();
    let mut documented = table_rows(include_str!("../../../docs/growth.md"), "| [`Fp");
    for row in &mut documented {
        row[0] = row[0].trim_matches(['[', ']']).to_owned();
    }
    assert_eq!(documented, expected);

    let expected: Vec<_> = growing.map(|&layout| growable_row(layout).to_vec()).collect();
    assert_eq!(table_rows(include_str!("../../storage.rs"), "/// | [`Fp"), expected);
}

/// The rates and bits in the documentation of `Builder::target_load`.
#[test]
fn the_table_of_target_loads_is_right() {
    let mut documented = table_rows(include_str!("../builder.rs"), "/// | 0.");
    // The last column is measured.
    for row in &mut documented {
        row.truncate(4);
    }
    let [greatest, default] = [growth_of(Fp16x4).max_target_load, growth_of(Fp16x4).target_load];
    let loads = [(greatest, ", the highest"), (0.8, ""), (default, ", the default"), (0.7, "")];
    let expected = loads.map(|(load, remark)| {
        let [first, sizes] = [0, 9].map(|doublings| grown_rate(Fp16x4, load, doublings));
        vec![format!("{load:.2}{remark}"), bits_per_item(Fp16x4, load), first, sizes]
    });
    assert_eq!(documented, expected);
}

/// The tables of docs/format.md: the numbers of each layout, its sizes, and where a semi-sorted word has its parts.
#[test]
fn the_tables_of_the_format_are_right() {
    let all = || LayoutId::ALL.iter().map(|layout| (layout.properties(), layout.name()));
    let row = |name: &str, numbers: &[String]| [&[format!("`{name}`")], numbers].concat();
    let shapes = all().map(|(layout, name)| {
        let [bits, slots] = [layout.bits.to_string(), layout.slots.to_string()];
        let core_bits = layout.growth.map(|growth| growth.max_core_bits.to_string());
        let shape = [layout.encoding.to_string(), bits, slots].into_iter().chain(core_bits);
        row(name, &shape.collect::<Vec<_>>())
    });
    let sizes = all().map(|(layout, name)| {
        let loads = layout.growth.map(|growth| {
            let most = sizing::thousandths(growth.max_target_load);
            format!("{} to {most}", sizing::MIN_TARGET_LOAD)
        });
        let sizes = [layout.scatter, layout.load].map(|number| number.to_string());
        row(name, &sizes.into_iter().chain(loads).collect::<Vec<_>>())
    });
    let words = all().filter(|(layout, _)| layout.encoding == 1).map(|(layout, name)| {
        let rest = layout.bits - 4;
        let rests = rest * layout.slots as u32;
        let number = format!("{rests} to 63 ({} bits)", 64 - rests);
        row(name, &[rest.to_string(), format!("0 to {}", rests - 1), number])
    });
    let mut documented = table_rows(include_str!("../../../docs/format.md"), "| `");
    documented.retain(|row| LayoutId::NAMES.contains(&row[0].trim_matches('`')));
    assert!(shapes.chain(sizes).chain(words).eq(documented.iter().cloned()), "{documented:#?}");
}

#[test]
fn the_table_of_what_is_chosen_is_right() {
    let rows = table_rows(include_str!("../../storage.rs"), "/// | 0.");
    let mut chosen = Vec::new();
    for row in rows {
        let rate = row[0].parse().expect("a rate");
        let filter = CuckooFilter::with_capacity_and_rate(1_000_000, rate).expect("reachable");
        let bits = filter.memory_bytes() as f64 * 8.0 / 1e6;
        let name = filter.layout_name();
        assert_eq!(row[1..], [format!("`{name}`"), format!("{bits:.1}")], "{row:?}");
        chosen.push(name);
    }
    let names = LayoutId::ALL.iter().map(|layout| layout.name());
    assert!(chosen.into_iter().eq(names), "a row for each layout");
}

/// The files of the reading path are there.
#[test]
fn a_reading_path_of_files_that_exist() {
    let design = include_str!("../../../docs/design.md");
    let (_, path) = design.split_once("\n# A reading path\n").expect("the section");
    let files: Vec<_> = path.split('`').filter(|name| name.starts_with("src/")).collect();
    assert!(files.len() > 15, "{files:?}");
    for file in files {
        let full = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        assert!(full.is_file(), "{file}");
    }
}
