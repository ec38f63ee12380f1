//! Rows that are inserted, overwritten and deleted in transactions, beside a filter of their keys.
//!
//! ```text
//! cargo run --release --example upsert
//! ```

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use coucal::GrowableCuckooFilter;
use redb::backends::InMemoryBackend;
use redb::{
    Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition,
    WriteTransaction,
};

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

const ROWS: TableDefinition<u64, u64> = TableDefinition::new("rows");

struct Store {
    /// A copy of its key for each row.
    filter: GrowableCuckooFilter,
    database: Database,
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
        let rows = self.database.begin_read()?.open_table(ROWS)?;
        Ok(rows.get(key)?.map(|row| row.value()))
    }

    fn begin(&self) -> Result<Transaction<'_>> {
        let copies = Copies { filter: &self.filter, written: Vec::new(), replaced: Vec::new() };
        Ok(Transaction { rows: self.database.begin_write()?, copies })
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

const WRITERS: u64 = 2;
const TRANSACTIONS: u64 = 150;

/// Of the keys, each writer has the multiples of `WRITERS` plus its number.
fn write(store: &Store, writer: u64) -> Result<()> {
    for n in 0..TRANSACTIONS {
        let mut transaction = store.begin()?;
        for write in 0..10 {
            let key = (n * 37 + write * write * 11) % 500 * WRITERS + writer;
            match write % 5 {
                4 if key >= 100 => transaction.delete(key)?,
                _ => transaction.upsert(key, n)?,
            }
        }
        if n % 3 == 2 {
            drop(transaction); // rolled back
        } else {
            transaction.commit()?;
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    let database = Database::builder().create_with_backend(InMemoryBackend::new())?;
    let store = Store { filter: GrowableCuckooFilter::new(), database };
    let mut transaction = store.begin()?;
    (0..100).try_for_each(|key| transaction.upsert(key, 0))?;
    transaction.commit()?;

    // The keys below 100 always have a row, which is overwritten again and again.
    let is_done = AtomicBool::new(false);
    let missed = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut missed = 0;
            while !is_done.load(Ordering::Relaxed) {
                for key in 0..100 {
                    missed += u64::from(store.get(key)?.is_none());
                }
            }
            Ok::<_, Box<dyn Error + Send + Sync>>(missed)
        });
        let store = &store;
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || write(store, writer))).collect();
        let written = writers.into_iter().try_for_each(|writer| writer.join().expect("no panic"));
        is_done.store(true, Ordering::Relaxed);
        written.and(reader.join().expect("no panic"))
    })?;

    let rows = store.database.begin_read()?.open_table(ROWS)?;
    let mut found = 0;
    for row in rows.iter()? {
        found += usize::from(store.filter.contains(&row?.0.value()));
    }
    let copies = store.filter.len();
    println!("{} rows, {found} of them found, {copies} copies", rows.len()?);
    println!("missed while they were overwritten: {missed}");
    Ok(())
}
