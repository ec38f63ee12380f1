//! Instructions of each operation, counted under callgrind: a guard against regressions that needs no quiet machine.
//! Each operation is counted twice: with the layout in the type of the filter, and with the layout chosen at run time
//! (names that begin with `any-`). Some are counted a third time (`grow-`): in a filter that has grown by some
//! doublings, and inserts while it grows. Names of maplets begin with `maplet-`: lookups there are `get`, except
//! `maplet-contains`; `count` is an `update_or_insert` of a key that is there, and `count-new` of a new key. The keys
//! of `maplet-hot-` have one value each, beside other keys with so many values that most of these are stashed. Names of
//! expiring filters begin with `expiring-`: `hot` is an insert of an item that was inserted in this generation, and
//! `hot-many` a batch of them in a generation that ends with the next new item. Names of views, which open trusted
//! bytes, begin with `view-`.
//!
//! ```text
//! cargo run --release -p coucal-benches --bin instructions              # compare with the record
//! cargo run --release -p coucal-benches --bin instructions -- --record  # renew the record
//! ```
//!
//! The work is fixed: fixed hashes, no seed, one thread. The program runs itself under valgrind with one unit of work
//! and with two; the difference leaves out start-up and preparation.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

use clap::Parser;
use coucal::{
    CuckooFilter, CuckooFilterView, CuckooMaplet, ExpiringCuckooFilter, Filter, Fp16x4, Fp21x3,
    Growable, GrowableCuckooFilter, GrowableCuckooMaplet, GrowingLayout, Layout, Maplet,
    MapletBuilder, Prehashed, StableHashBuilder, Storage,
};
use coucal_benches::keys::mix;
use coucal_benches::text::compiler;

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions/record.csv");
/// The capacity of every table, in items.
const CAPACITY: usize = 60_000;
/// The number of operations of one unit of work, except for the fills.
const OPERATIONS: u64 = 20_000;
/// The largest number of units of one run.
const MAX_UNITS: u64 = 2;
/// The relative change that the guard accepts. If an operation takes more, the guard fails; if it takes less, the guard
/// asks for a new record.
const TOLERANCE: f64 = 0.05;

/// The bits of the values of a maplet.
const VALUE_BITS: u32 = 6;

/// The hasher of a view: opening a view hashes something.
const HASHER: StableHashBuilder = StableHashBuilder::new(7);

/// A rate for which the layout chosen at run time is the default one.
const RATE: f64 = 0.0005;

/// Counts instructions under callgrind and compares them with the record.
#[derive(Parser)]
struct Arguments {
    /// Writes the record instead.
    #[arg(long)]
    record: bool,
    /// Only the work, this many units of it: what runs under valgrind.
    #[arg(long, num_args = 2, value_names = ["NAME", "UNITS"], hide = true)]
    work: Option<Vec<String>>,
}

/// A measured operation.
struct Task {
    name: String,
    /// Does this number of units of work. Returns the number of operations of one unit.
    run: Box<dyn Fn(u64) -> u64>,
}

fn task(name: impl Into<String>, run: impl Fn(u64) -> u64 + 'static) -> Task {
    Task { name: name.into(), run: Box::new(run) }
}

fn tasks() -> Vec<Task> {
    // Without a hasher, since the work is given by hashes.
    let mut tasks =
        tasks_of("", || CuckooFilter::<Fp16x4, _>::with_capacity_and_hasher(CAPACITY, ()));
    tasks.extend(tasks_of("any-", || {
        let builder = CuckooFilter::builder().capacity(CAPACITY).false_positive_rate(RATE);
        let filter = builder.any_layout().hasher(()).build().expect("some layout has this rate");
        assert_eq!(filter.layout_name(), Fp16x4::NAME, "the layouts are the same");
        filter
    }));
    tasks.extend([
        task("grow-miss", |units| grown(units, |filter, n| filter.contains(&Prehashed(mix(!n))))),
        task("grow-hit", |units| grown(units, |filter, n| filter.contains(&Prehashed(mix(n))))),
        task("grow-remove", |units| grown(units, |filter, n| filter.remove(&Prehashed(mix(n))))),
        // Inserts that make the filter grow.
        task("grow-insert", |units| {
            grown(units, |filter, n| filter.insert(&Prehashed(mix(CAPACITY as u64 + n))).is_ok())
        }),
        task("maplet-miss", |units| {
            maplet(units, |it, n| it.get(&Prehashed(mix(!n))).next().is_some())
        }),
        task("maplet-hit", |units| {
            maplet(units, |it, n| it.get(&Prehashed(mix(n))).next().is_some())
        }),
        task("maplet-remove", |units| {
            maplet(units, |it, n| it.remove(&Prehashed(mix(n)), value(n)))
        }),
        task("maplet-contains", |units| {
            maplet(units, |it, n| it.contains_key(&Prehashed(mix(!n))))
        }),
        task("maplet-fill", |units| full_several_times(units, full_maplet)),
        task("maplet-count", |units| maplet(units, is_counted)),
        task("maplet-count-new", |units| {
            full_several_times(units, || {
                let maplet = empty_maplet();
                assert!((0..CAPACITY as u64).all(|n| is_counted(&maplet, n)));
                maplet
            })
        }),
        task("maplet-hot-miss", |units| {
            beside_hot(units, |it, n| it.get(&Prehashed(mix(!n))).next().is_some())
        }),
        task("maplet-hot-hit", |units| {
            beside_hot(units, |it, n| it.get(&Prehashed(mix(n))).next().is_some())
        }),
        task("maplet-hot-contains", |units| {
            beside_hot(units, |it, n| it.contains_key(&Prehashed(mix(!n))))
        }),
        task("maplet-hot-count", |units| beside_hot(units, is_counted)),
        task("maplet-hot-remove", |units| {
            beside_hot(units, |it, n| it.remove(&Prehashed(mix(n)), value(n)))
        }),
        task("expiring-miss", |units| {
            let filter = full_expiring();
            repeat(units, |n| filter.contains(&Prehashed(mix(!n))))
        }),
        task("expiring-hot", |units| {
            let filter = full_expiring();
            repeat(units, |n| filter.insert(&Prehashed(mix(n))) == Ok(true))
        }),
        task("expiring-hot-many", |units| {
            let mut filter = full_expiring();
            filter.set_every_items(1).expect("at least 1");
            let hashes: Vec<_> = (0..CAPACITY as u64).map(mix).collect();
            let mut new = vec![true; CAPACITY];
            for _ in 0..units {
                let stored = filter.insert_many(Prehashed::slice(&hashes), &mut new);
                assert_eq!(stored, Ok(0), "all are remembered");
            }
            CAPACITY as u64
        }),
        task("expiring-fill", |units| full_several_times(units, full_expiring)),
        task("view-miss", |units| view(units, |view, n| view.contains(&Prehashed(mix(!n))))),
        task("view-hit", |units| view(units, |view, n| view.contains(&Prehashed(mix(n))))),
        task("view-open", |units| {
            view(units, |view, _| {
                let bytes = black_box(view.as_bytes());
                black_box(CuckooFilterView::from_trusted_bytes(bytes, HASHER)).is_ok()
            })
        }),
    ]);
    tasks.extend(tasks_of_growing_maplets("maplet-grow-", || {
        growing_maplet(GrowableCuckooMaplet::builder())
    }));
    tasks.extend(tasks_of_growing_maplets("any-maplet-grow-", || {
        growing_maplet(GrowableCuckooMaplet::builder().any_layout())
    }));
    tasks
}

/// Returns the tasks of a filter of fixed size.
fn tasks_of<L: Storage + 'static>(prefix: &str, empty: fn() -> Filter<L, ()>) -> Vec<Task> {
    const AS_MANY: &str = "as many answers as hashes";
    let name = |name| format!("{prefix}{name}");
    vec![
        task(name("miss"), move |units| {
            each(units, empty, |filter, n| filter.contains(&Prehashed(mix(!n))))
        }),
        task(name("hit"), move |units| {
            each(units, empty, |filter, n| filter.contains(&Prehashed(mix(n))))
        }),
        task(name("contains-many"), move |units| {
            many(units, empty, |filter, hashes, found| {
                filter.contains_many(Prehashed::slice(hashes), found).expect(AS_MANY);
            })
        }),
        task(name("fill-to-half"), move |units| fills(units, empty, 0.5)),
        task(name("fill-to95"), move |units| fills(units, empty, 0.95)),
        task(name("insert-many"), move |units| {
            // The same filters and the same list for any number of units.
            let filters = [(); MAX_UNITS as usize].map(|()| empty());
            let hashes: Vec<_> = (0..OPERATIONS).map(mix).collect();
            for filter in &filters[..units as usize] {
                filter.insert_many(Prehashed::slice(&hashes)).expect("there is room for all");
            }
            OPERATIONS
        }),
        task(name("unique-present"), move |units| {
            each(units, empty, |filter, n| filter.insert_if_absent(&Prehashed(mix(n))) == Ok(true))
        }),
        task(name("remove"), move |units| {
            each(units, empty, |filter, n| filter.remove(&Prehashed(mix(n))))
        }),
        task(name("remove-many"), move |units| {
            many(units, empty, |filter, hashes, removed| {
                filter.remove_many(Prehashed::slice(hashes), removed).expect(AS_MANY);
            })
        }),
    ]
}

fn filled<L: Storage>(empty: fn() -> Filter<L, ()>, load: f64) -> Filter<L, ()> {
    let filter = empty();
    for index in 0..(filter.slots() as f64 * load) as u64 {
        filter.insert(&Prehashed(mix(index))).expect("the load is below the first failure");
    }
    filter
}

fn fills<L: Storage>(units: u64, empty: fn() -> Filter<L, ()>, load: f64) -> u64 {
    let filters = (0..units).map(|_| black_box(filled(empty, load)));
    filters.fold(0, |_, filter| filter.len() as u64)
}

/// Does one operation after the other in a full filter.
fn each<L: Storage>(
    units: u64,
    empty: fn() -> Filter<L, ()>,
    operation: impl Fn(&Filter<L, ()>, u64) -> bool,
) -> u64 {
    let filter = filled(empty, 0.95);
    repeat(units, |index| operation(&filter, index))
}

/// Does batches in a full filter. The lists are the same for any number of units, and a run uses a part of them.
fn many<L: Storage>(
    units: u64,
    empty: fn() -> Filter<L, ()>,
    operation: impl Fn(&Filter<L, ()>, &[u64], &mut [bool]),
) -> u64 {
    let filter = filled(empty, 0.95);
    let hashes: Vec<_> = (0..MAX_UNITS * OPERATIONS).map(mix).collect();
    let mut answers = vec![false; hashes.len()];
    let done = (units * OPERATIONS) as usize;
    operation(&filter, &hashes[..done], &mut answers[..done]);
    black_box(answers);
    OPERATIONS
}

/// Does operations in a filter that has grown by some doublings, and can grow on.
fn grown(units: u64, operation: impl Fn(&GrowableCuckooFilter<Fp16x4, ()>, u64) -> bool) -> u64 {
    let builder =
        GrowableCuckooFilter::builder().capacity(CAPACITY / 32).max_capacity(2 * CAPACITY);
    let filter = builder.hasher(()).build().expect("the layout grows so far");
    for index in 0..CAPACITY as u64 {
        filter.insert(&Prehashed(mix(index))).expect("it grows");
    }
    repeat(units, |index| operation(&filter, index))
}

fn value(index: u64) -> u32 {
    (index % (1 << VALUE_BITS)) as u32
}

/// Counts a key. Returns whether there was room.
fn is_counted<L: Storage>(maplet: &Maplet<L, ()>, index: u64) -> bool {
    let next = |value| Some((value + 1) % (1 << VALUE_BITS));
    maplet.update_or_insert(&Prehashed(mix(index)), 1, next).is_ok()
}

fn empty_maplet() -> CuckooMaplet<Fp16x4, ()> {
    let builder = CuckooMaplet::builder().capacity(CAPACITY).value_bits(VALUE_BITS);
    builder.hasher(()).build().expect("the layout has room for the values")
}

/// Does operations on keys with one value in a maplet that also has keys with so many values that most are stashed:
/// the keys of indices that are multiples of `ONE_HOT_IN`, which are skipped.
fn beside_hot(units: u64, operation: impl Fn(&CuckooMaplet<Fp16x4, ()>, u64) -> bool) -> u64 {
    const ONE_HOT_IN: u64 = 256;
    const OF_HOT: u64 = 20;
    let maplet = empty_maplet();
    let keys = CAPACITY as u64 * ONE_HOT_IN / (ONE_HOT_IN - 1 + OF_HOT);
    for index in 0..keys {
        let values = if index.is_multiple_of(ONE_HOT_IN) { OF_HOT } else { 1 };
        for value in (0..values).map(|more| value(index + more)) {
            maplet.insert(&Prehashed(mix(index)), value).expect("within the capacity");
        }
    }
    let beside = |index: u64| index + index / (ONE_HOT_IN - 1) + 1;
    repeat(units, |index| operation(&maplet, beside(index)))
}

fn full_maplet() -> CuckooMaplet<Fp16x4, ()> {
    let maplet = empty_maplet();
    for index in 0..CAPACITY as u64 {
        maplet.insert(&Prehashed(mix(index)), value(index)).expect("within the capacity");
    }
    maplet
}

fn maplet(units: u64, operation: impl Fn(&CuckooMaplet<Fp16x4, ()>, u64) -> bool) -> u64 {
    let maplet = full_maplet();
    repeat(units, |index| operation(&maplet, index))
}

/// Makes a full filter with as many generations as the maplet has values.
fn full_expiring() -> ExpiringCuckooFilter<Fp16x4, ()> {
    let builder = ExpiringCuckooFilter::builder().capacity(CAPACITY).generations(1 << VALUE_BITS);
    let filter = builder.hasher(()).build().expect("the layout has room for the generations");
    for index in 0..CAPACITY as u64 {
        filter.insert(&Prehashed(mix(index))).expect("within the capacity");
    }
    filter
}

/// Inserts new items.
fn full_several_times<T>(units: u64, full: fn() -> T) -> u64 {
    (0..units).for_each(|_| drop(black_box(full())));
    CAPACITY as u64
}

/// Does lookups in the bytes of a full filter.
fn view(units: u64, operation: impl Fn(&CuckooFilterView<Vec<u8>>, u64) -> bool) -> u64 {
    let filter = CuckooFilter::<Fp16x4, _>::with_capacity_and_hasher(CAPACITY, HASHER);
    for index in 0..CAPACITY as u64 {
        filter.insert(&Prehashed(mix(index))).expect("within the capacity");
    }
    let bytes = filter.snapshot().expect("memory for a snapshot").into_bytes();
    let view = CuckooFilterView::from_bytes(bytes, HASHER).expect("a good snapshot");
    repeat(units, |index| operation(&view, index))
}

/// Returns the tasks of a growing maplet, in the layout that is chosen for its values.
fn tasks_of_growing_maplets<L: GrowingLayout + 'static>(
    prefix: &str,
    maplet: fn() -> GrowableCuckooMaplet<L, ()>,
) -> Vec<Task> {
    let each = |name, operation: fn(&GrowableCuckooMaplet<L, ()>, u64) -> bool| {
        task(format!("{prefix}{name}"), move |units| {
            let maplet = maplet();
            assert_eq!(maplet.layout_name(), Fp21x3::NAME, "the layouts are the same");
            repeat(units, |index| operation(&maplet, index))
        })
    };
    vec![
        each("miss", |it, n| it.get(&Prehashed(mix(!n))).next().is_some()),
        each("hit", |it, n| it.get(&Prehashed(mix(n))).next().is_some()),
        each("count", is_counted),
        // New keys that make the maplet grow.
        each("count-new", |it, n| is_counted(it, CAPACITY as u64 + n)),
    ]
}

fn growing_maplet<L: GrowingLayout>(
    builder: MapletBuilder<Growable<L>>,
) -> GrowableCuckooMaplet<L, ()> {
    let builder = builder.capacity(CAPACITY / 32).value_bits(VALUE_BITS);
    let maplet = builder.hasher(()).build().expect("growth does not end");
    for index in 0..CAPACITY as u64 {
        maplet.insert(&Prehashed(mix(index)), value(index)).expect("it grows");
    }
    maplet
}

fn repeat(units: u64, operation: impl Fn(u64) -> bool) -> u64 {
    let yes = (0..units * OPERATIONS).filter(|index| operation(*index)).count();
    black_box(yes);
    OPERATIONS
}

/// Counts the instructions of the program with this number of units of work.
fn count(task: &Task, units: u64) -> Result<u64, Box<dyn Error>> {
    let out = env::temp_dir().join(format!("coucal-callgrind-{}", std::process::id()));
    let status = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(env::current_exe()?)
        .args(["--work", &task.name, &units.to_string()])
        .stdout(Stdio::null())
        .status()?;
    // There may be none.
    let counts = fs::read_to_string(&out);
    let _ = fs::remove_file(&out);
    if !status.success() {
        return Err(format!("{} failed under valgrind: {status}", task.name).into());
    }
    let counts = counts?;
    let total = counts.lines().find_map(|line| line.strip_prefix("totals: "));
    Ok(total.ok_or("callgrind wrote no total")?.trim().parse()?)
}

/// Returns the number of instructions per operation.
fn measure(task: &Task) -> Result<f64, Box<dyn Error>> {
    let operations = (task.run)(1);
    let (one, two) = (count(task, 1)?, count(task, 2)?);
    Ok((two.saturating_sub(one)) as f64 / operations as f64)
}

/// Returns whether no operation takes more instructions than the tolerance allows.
fn check(record: &str) -> Result<bool, Box<dyn Error>> {
    let recorded: HashMap<_, _> = record.lines().filter_map(|line| line.split_once(',')).collect();
    let (mut slower, mut faster, mut missing) = (false, false, false);
    println!("{:<20} {:>8} {:>8} {:>8}", "instructions", "recorded", "now", "change");
    for task in &tasks() {
        let now = measure(task)?;
        let then: f64 = recorded.get(&*task.name).map_or(Ok(f64::NAN), |text| text.parse())?;
        missing |= then.is_nan();
        let change = now / then - 1.0;
        slower |= change > TOLERANCE;
        faster |= change < -TOLERANCE;
        let note = if change > TOLERANCE { "  too many" } else { "" };
        println!("{:<20} {then:>8.1} {now:>8.1} {:>+7.1} %{note}", task.name, change * 100.0);
    }
    let compiler = compiler();
    if (slower || faster) && !record.contains(&compiler) {
        println!("The record was made by another compiler; this is {compiler}.");
    }
    if missing {
        println!("An operation has no record: make one with --record.");
    }
    if slower {
        println!("An operation takes more than 5 % more instructions than recorded.");
    } else if faster {
        println!("Fewer instructions than recorded: renew the record with --record.");
    }
    Ok(!slower && !missing)
}

fn record() -> Result<bool, Box<dyn Error>> {
    let mut text = format!("# instructions per operation, counted by callgrind; {}\n", compiler());
    for task in &tasks() {
        writeln!(text, "{},{:.1}", task.name, measure(task)?)?;
    }
    print!("{text}");
    fs::write(RECORD, text)?;
    Ok(true)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::parse();
    if let Some([name, units]) = arguments.work.as_deref() {
        let tasks = tasks();
        let task = tasks.iter().find(|task| task.name == *name).ok_or("there is no such task")?;
        (task.run)(units.parse()?);
        return Ok(ExitCode::SUCCESS);
    }
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        return Err("valgrind is not installed. It is a package of most systems.".into());
    }
    let good = if arguments.record {
        record()?
    } else {
        check(&fs::read_to_string(RECORD).unwrap_or_default())?
    };
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
