//! The main job of a filter: threads share one in front of a database on disk.
//!
//! Half of the lookups are for keys that do not exist. Without the filter each of them reads the database; with it,
//! nearly all are answered from memory. Meanwhile the same threads insert, overwrite and delete rows in transactions,
//! and roll back some of them. All this is done twice, without the filter and with it. The answers for keys that always
//! have a row, or never have one, are checked.
//!
//! ```text
//! cargo run --release --example shared_cache
//! ```
//!
//! # Keeping filter and database together
//!
//! At every moment, each row that a reader can find has a copy of its key in the filter. So a write inserts a copy
//! before its row, and after a commit the copies of the rows that it replaced or deleted are removed. In between there
//! is a copy too many, which costs a read at most. Any thread may write any key: the database says which rows a write
//! has replaced.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use clap::Parser;
use coucal::GrowableCuckooFilter;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition,
    WriteTransaction,
};

/// Look up and write rows of a database on several threads, without and with a shared filter in front of it.
///
/// The database is in the folder for temporary files (TMPDIR), and gone at the end. Exit status: 0 if every answer was
/// right; 1 if one was wrong or the database failed; 2 for wrong arguments.
#[derive(Parser)]
#[command(name = "shared_cache")]
struct Options {
    /// How many keys have a row all the time. As many others come and go.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    keys: u64,

    /// How many lookups each of four threads does. After each thousand it writes a transaction.
    #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1000..))]
    lookups: u64,
}

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

const THREADS: u64 = 4;
const ROWS: TableDefinition<u64, u64> = TableDefinition::new("rows");

struct Store {
    /// A copy of its key for each row.
    filter: GrowableCuckooFilter,
    database: Database,
    reads: AtomicU64,
}

/// Writes that take effect together when it is committed, or not at all if it is dropped.
struct Transaction<'s> {
    rows: WriteTransaction,
    copies: Copies<'s>,
}

struct Copies<'s> {
    filter: &'s GrowableCuckooFilter,
    /// Of the rows that the transaction has written.
    written: Vec<u64>,
    /// Of the rows that it has overwritten or deleted.
    replaced: Vec<u64>,
}

impl Store {
    fn get(&self, key: u64) -> Result<Option<u64>> {
        if !self.filter.contains(&key) {
            return Ok(None); // certain: the database is not asked
        }
        self.read(key)
    }

    fn read(&self, key: u64) -> Result<Option<u64>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let rows = self.database.begin_read()?.open_table(ROWS)?;
        Ok(rows.get(key)?.map(|row| row.value()))
    }

    fn begin(&self) -> Result<Transaction<'_>> {
        let mut rows = self.database.begin_write()?;
        // No wait for the disk. The filter is in memory only: after a crash it is filled from what the database has.
        rows.set_durability(Durability::None)?;
        let copies = Copies { filter: &self.filter, written: Vec::new(), replaced: Vec::new() };
        Ok(Transaction { rows, copies })
    }
}

impl Transaction<'_> {
    /// Inserts a row, or overwrites the one that is there.
    fn upsert(&mut self, key: u64, row: u64) -> Result<()> {
        self.copies.filter.insert(&key)?; // before the row
        self.copies.written.push(key);
        if self.rows.open_table(ROWS)?.insert(key, row)?.is_some() {
            self.copies.replaced.push(key);
        }
        Ok(())
    }

    fn delete(&mut self, key: u64) -> Result<()> {
        if self.rows.open_table(ROWS)?.remove(key)?.is_some() {
            self.copies.replaced.push(key);
        }
        Ok(())
    }

    fn commit(self) -> Result<()> {
        let Self { rows, mut copies } = self;
        copies.written.clear(); // they stay, also if it is not known whether the commit succeeded
        rows.commit()?;
        for key in &copies.replaced {
            copies.filter.remove(key);
        }
        Ok(())
    }
}

impl Drop for Copies<'_> {
    /// A rollback, or nothing after a commit: removes the copies of the rows that the transaction has written.
    fn drop(&mut self) {
        for key in &self.written {
            self.filter.remove(key);
        }
    }
}

/// The lookups and transactions of one thread: the number of wrong answers. The first `keys` keys always have a row, as
/// many others come and go, and those beyond never exist.
fn work(store: &Store, get: Get, keys: u64, lookups: u64, seed: u64) -> Result<u64> {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut wrong = 0;
    for n in 0..lookups {
        let key = random.random_range(0..4 * keys);
        let found = get(store, key)?.is_some();
        wrong += u64::from(key < keys && !found || key >= 2 * keys && found);
        if n % 1000 == 999 {
            let mut transaction = store.begin()?;
            for _ in 0..20 {
                let key = random.random_range(0..2 * keys);
                if key >= keys && random.random() {
                    transaction.delete(key)?;
                } else {
                    transaction.upsert(key, n)?;
                }
            }
            if random.random_ratio(2, 3) {
                transaction.commit()?;
            } // otherwise it is rolled back
        }
    }
    Ok(wrong)
}

type Get = fn(&Store, u64) -> Result<Option<u64>>;

/// Lets all threads work. Prints a row, and returns the number of wrong answers.
fn serve(label: &str, store: &Store, get: Get, options: &Options) -> Result<u64> {
    let &Options { keys, lookups } = options;
    store.reads.store(0, Ordering::Relaxed);
    let start = Instant::now();
    let wrong = thread::scope(|scope| {
        let start = |seed| scope.spawn(move || work(store, get, keys, lookups, seed));
        let workers: Vec<_> = (0..THREADS).map(start).collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).sum::<Result<u64>>()
    })?;
    let per_second = (lookups * THREADS) as f64 / start.elapsed().as_secs_f64();
    let reads = store.reads.load(Ordering::Relaxed);
    writeln!(io::stdout(), "{label:14}{per_second:>14.0}{reads:>14}{wrong:>10}")?;
    Ok(wrong)
}

fn run(options: &Options) -> Result<u64> {
    let folder = tempfile::tempdir()?;
    // A small cache, as on a server whose data does not fit in memory.
    let database =
        Database::builder().set_cache_size(4 << 20).create(folder.path().join("rows"))?;
    let store = Store { filter: GrowableCuckooFilter::new(), database, reads: AtomicU64::new(0) };
    let mut transaction = store.begin()?;
    (0..options.keys).try_for_each(|key| transaction.upsert(key, 0))?;
    transaction.commit()?;

    let mut out = io::stdout();
    writeln!(out, "{:14}{:>14}{:>14}{:>10}", "", "lookups/s", "reads", "wrong")?;
    let mut wrong = serve("without filter", &store, Store::read, options)?;
    wrong += serve("with filter", &store, Store::get, options)?;
    // Each row is found, and no copy is left of what was overwritten, deleted or rolled back.
    let rows = store.database.begin_read()?.open_table(ROWS)?;
    let mut found = 0;
    for row in rows.iter()? {
        found += u64::from(store.filter.contains(&row?.0.value()));
    }
    let (rows, copies) = (rows.len()?, store.filter.len() as u64);
    writeln!(out, "{rows} rows, {found} of them found, {copies} copies")?;
    Ok(wrong + rows.abs_diff(found) + rows.abs_diff(copies))
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(0) => return ExitCode::SUCCESS,
        Ok(wrong) => eprintln!("shared_cache: {wrong} wrong answers"),
        Err(error) => eprintln!("shared_cache: {error}"),
    }
    ExitCode::FAILURE
}
