//! Snapshots: the words of a table at one instant, while other threads use it.
//!
//! 1. Publish a mirror: a zero for each word of the table. A thread that adds a chunk of words to a
//!    growing table adds it to the mirror first.
//! 2. For each stripe: lock it and set its flag `recording`. From then on, a writer stores each word of
//!    that stripe in the table and in the mirror.
//! 3. For each block of words: copy it into the mirror, then compare. A word that has changed meanwhile is
//!    copied again, under its stripe. From then on, these words of the mirror equal those of the table
//!    whenever their stripes are not held.
//! 4. Lock all stripes; read the extent and the counts, clear the flags and take the mirror away. This
//!    is the instant.
//!
//! Lookups never wait. A writer waits for one store while a flag is set or a word is copied again, and
//! once while all stripes are locked.
//!
//! Why a comparison is enough: a writer stores in the table and then in the mirror; the copy stores in
//! the mirror and then loads from the table, to compare. Each has a fence in between. If the writer's
//! fence comes first, the copy reads what the writer has stored in the table, and repairs the mirror if
//! the two differ. If the copy's fence comes first, the writer's store in the mirror comes after
//! the copy's.

use std::sync::Arc;

use super::Table;
use super::address::{Buckets, Growing, NoMemory, Words};
use super::stripes::{All, Locked, MAX_STRIPES};
use crate::error::SnapshotError;
use crate::extent::Extent;
use crate::layout::{Layout, Word};
use crate::sync::{self, AtomicU64, Mutex, MutexGuard, Ordering, Published, fence};

/// Words that are copied before they are compared: few enough to be still in the cache, and enough to
/// make the cost of the fence small. Two under loom, so that a model's table of four words has two
/// blocks.
const BLOCK: usize = if cfg!(loom) { 2 } else { 512 };

/// The words of a table at one instant.
pub struct Image {
    pub(crate) extent: Extent,
    /// The target load of a growing table, in thousandths; 0 for a table of fixed size.
    pub(crate) target_load: u32,
    /// Bits of the value in each slot; 0 in a filter.
    pub(crate) value_bits: u32,
    /// Slots in use.
    pub(crate) items: usize,
    /// The number of buckets that the table may ever have.
    pub(crate) max_buckets: usize,
    /// The words of all buckets, and zeros for the next ones, in pieces as the table has them.
    pub(crate) words: Vec<Box<[AtomicU64]>>,
}

impl Image {
    /// The words of all buckets.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        let words = self.words.iter().flatten().take(self.extent.buckets());
        // Relaxed: nobody stores in it any more.
        words.map(|word| word.load(Ordering::Relaxed))
    }
}

/// A second place for every store of a word, while a snapshot is taken.
pub(super) struct Mirror<W> {
    /// Held by whoever takes a snapshot. It is taken before any stripe.
    taking: Mutex,
    words: Published<W>,
}

impl<W> Mirror<W> {
    pub(super) fn new() -> Self {
        Self { taking: Mutex::new(), words: Published::none() }
    }
}

/// A mirror in use. RAII guard: takes it away on drop, unless `stop` has.
struct Recording<'a, L: Layout, B: Buckets> {
    table: &'a Table<L, B>,
}

/// A mirror in use, and its words.
type MirrorOf<'a, L, B> = (Recording<'a, L, B>, Arc<<B as Buckets>::Words>);

impl<'a, L: Layout, B: Buckets> Recording<'a, L, B> {
    /// Publishes the mirror, while nobody adds a chunk to the table.
    fn publish(table: &'a Table<L, B>, words: Arc<B::Words>) -> Self {
        table.mirror.words.replace(Some(words));
        Self { table }
    }

    /// Sets the flag of each stripe, when the mirror has all words that the table has.
    fn start(&self) {
        self.table.stripes.start_recording();
    }

    /// Clears the flags, while all stripes are locked, and takes the mirror away.
    fn stop(&self, locked: &Locked<'_, All<'_>>) -> Option<B::Words> {
        locked.stop_recording();
        // Another thread has a reference to it only while it holds a stripe, or adds a chunk.
        self.table.mirror.words.replace(None).and_then(Arc::into_inner)
    }
}

impl<L: Layout, B: Buckets> Drop for Recording<'_, L, B> {
    fn drop(&mut self) {
        if self.table.mirror.words.get().is_some() {
            self.stop(&self.table.stripes.lock_all());
        }
    }
}

impl<L: Layout, B: Buckets> Table<L, B> {
    /// The table at one instant during the call.
    ///
    /// Blocks while another thread takes an image, and as writers do.
    pub(crate) fn image(&self) -> Result<Image, SnapshotError> {
        let _taking = self.mirror.taking.lock();
        let max_buckets = self.buckets.words().max_buckets();
        let (recording, words) = self.publish_mirror()?;
        recording.start();
        self.copy_into(&words);
        drop(words);

        // Whoever adds a chunk has a reference to the mirror meanwhile.
        let splitting = self.lock_splitting();
        let locked = self.stripes.lock_all();
        let extent = self.buckets.growing().map_or(Extent::start(self.rows()), Growing::extent);
        let items = self.stripes.occupied();
        let words = recording.stop(&locked).expect("nobody else takes the mirror");
        drop(locked);
        drop(splitting);
        let buckets = extent.buckets();
        let no_memory = SnapshotError::OutOfMemory { bytes: buckets * size_of::<u64>() };
        let words = words.into_pieces(buckets).ok_or(no_memory)?;
        let (target_load, value_bits) = (self.target_load(), self.value_bits());
        Ok(Image { extent, target_load, value_bits, items, max_buckets, words })
    }

    /// A mirror with all words that the table has.
    fn publish_mirror(&self) -> Result<MirrorOf<'_, L, B>, SnapshotError> {
        let splitting = self.lock_splitting();
        let words = self.buckets.words();
        let (max_buckets, reached) = (words.max_buckets(), words.reached());
        let no_memory = SnapshotError::OutOfMemory { bytes: reached * size_of::<u64>() };
        let words = Arc::new(B::Words::try_new(max_buckets).ok_or(no_memory)?);
        let recording = Recording::publish(self, Arc::clone(&words));
        let present = self.present();
        drop(splitting);
        // All that the table has now. What is added from now on, its new owner adds here as well.
        words.try_reach(reached).map_err(|_| no_memory)?;
        words.pieces(present).for_each(sync::touch);
        Ok((recording, words))
    }

    /// The mutex of those who split, if the table grows.
    fn lock_splitting(&self) -> Option<MutexGuard<'_>> {
        self.buckets.growing().map(|growing| growing.splitting.lock())
    }

    /// Allocates what is missing of the mirror's words of the first `buckets` buckets, if there is a
    /// mirror: before the table has them. Called while no stripe is held, by the thread that splits.
    pub(super) fn reach_in_mirror(&self, buckets: usize) -> Result<(), NoMemory> {
        match self.mirror.words.get() {
            Some(mirror) => mirror.try_reach(buckets),
            None => Ok(()),
        }
    }

    /// For the models: an `image` that ends early.
    #[cfg(loom)]
    pub(crate) fn abandon_image(&self) {
        let _taking = self.mirror.taking.lock();
        let (recording, _) = self.publish_mirror().expect("memory for a model");
        recording.start();
    }

    /// For the models: whether there is a mirror.
    #[cfg(loom)]
    pub(crate) fn has_mirror(&self) -> bool {
        self.mirror.words.get().is_some()
    }

    /// Copies the word of a bucket, after it was stored in the table. The bucket's stripe is locked and
    /// its flag is set.
    #[cold]
    #[inline(never)]
    pub(super) fn copy_to_mirror(&self, bucket: usize) {
        let words = self.mirror.words.get().expect("a mirror, while flags are set");
        // SeqCst: pairs with the fence of `copy_into`.
        fence(Ordering::SeqCst);
        copy(self.buckets.word(bucket), words.word(bucket));
    }

    /// Copies every word, when the flags of all stripes are set. Later splits store the words of their new
    /// buckets in the mirror themselves.
    fn copy_into(&self, mirror: &B::Words) {
        let present = self.present();
        let pieces = self.buckets.words().pieces(present).zip(mirror.pieces(present));
        let blocks =
            pieces.flat_map(|(words, copies)| words.chunks(BLOCK).zip(copies.chunks(BLOCK)));
        let mut first = 0;
        for (words, copies) in blocks {
            for (word, copied) in words.iter().zip(copies) {
                copy(word, copied);
            }
            #[cfg(all(test, not(loom)))]
            tests::copied(copies);
            // SeqCst: pairs with the fence of `copy_to_mirror`.
            fence(Ordering::SeqCst);
            for (bucket, (word, copied)) in (first..).zip(words.iter().zip(copies)) {
                // Relaxed: the fence orders this load.
                let now = word.load(Ordering::Relaxed);
                if now != copied.load(Ordering::Relaxed) {
                    let _locked = self.stripes.lock([bucket]);
                    copy(word, copied);
                }
            }
            first += words.len();
        }
    }

    /// The table of an image; `None` if the allocator has no memory for it.
    pub(crate) fn from_image(image: Image) -> Option<Self> {
        let Image { extent, target_load, value_bits, max_buckets, words, .. } = image;
        let words = B::Words::from_pieces(max_buckets, words)?;
        let table = Self::try_with_words(extent, target_load, value_bits, words)?;
        let locked = table.stripes.lock_all();
        // Buckets at this distance have the same stripe, however many stripes there are.
        let mut occupied = Vec::new();
        let stripes = MAX_STRIPES.min(table.present());
        occupied.try_reserve_exact(stripes).ok()?;
        occupied.resize(stripes, 0);
        let mut first = 0;
        for mut words in table.buckets.words().pieces(table.present()) {
            while !words.is_empty() {
                let counts = &mut occupied[first % MAX_STRIPES..];
                let (run, rest) = words.split_at(words.len().min(counts.len()));
                for (occupied, word) in counts.iter_mut().zip(run) {
                    // Relaxed: no other thread has it yet.
                    *occupied += Word::<L>::from_bits(word.load(Ordering::Relaxed)).in_use();
                }
                (first, words) = (first + run.len(), rest);
            }
        }
        for (bucket, slots) in occupied.into_iter().enumerate() {
            locked.occupy_several(bucket, slots);
        }
        drop(locked);
        Some(table)
    }
}

/// Relaxed: either the stripe of the bucket orders this with other stores in these words, or the fence
/// and the comparison of `copy_into` do.
#[inline]
fn copy(word: &AtomicU64, to: &AtomicU64) {
    to.store(word.load(Ordering::Relaxed), Ordering::Relaxed);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::RefCell;
    use std::panic::{self, AssertUnwindSafe};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::layout::Fp16x4;

    type Hook = dyn FnMut(&[AtomicU64]);

    std::thread_local! {
        /// Called by a snapshot of this thread with each block of the mirror, when it is copied and not
        /// compared yet.
        static COPIED: RefCell<Box<Hook>> = RefCell::new(Box::new(|_| {}));
    }

    pub(super) fn copied(block: &[AtomicU64]) {
        COPIED.with_borrow_mut(|hook| hook(block));
    }

    /// An image, by a thread that has this hook.
    fn image_with(table: &Table<Fp16x4>, hook: impl FnMut(&[AtomicU64]) + Send + 'static) -> Image {
        let take = || {
            COPIED.set(Box::new(hook));
            table.image().unwrap()
        };
        thread::scope(|scope| scope.spawn(take).join().unwrap())
    }

    fn words(table: &Table<Fp16x4>) -> impl Iterator<Item = u64> {
        table.buckets.words().iter().map(|word| word.load(Ordering::Relaxed))
    }

    /// A panic while a snapshot is taken leaves no flag and no mirror behind.
    #[test]
    fn a_panic_takes_the_mirror_away() {
        let table = Table::<Fp16x4>::try_new(100, 100).unwrap();
        for hash in 0..100 {
            table.insert(table.key(hash)).unwrap();
        }
        let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
            let _taking = table.mirror.taking.lock();
            let (recording, _) = table.publish_mirror().unwrap();
            recording.start();
            let locked = table.stripes.lock([99]);
            assert!(locked.is_recorded(99));
            // While it holds a stripe.
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert!(table.mirror.words.get().is_none());
        let locked = table.stripes.lock_all();
        assert!((0..100).all(|bucket| !locked.is_recorded(bucket)));
        drop(locked);
        // Writers look for no mirror, and another snapshot can be taken.
        table.insert(table.key(100)).unwrap();
        let image = table.image().unwrap();
        let words = table.buckets.words().iter().map(|word| word.load(Ordering::Relaxed));
        assert!(image.words().eq(words));
        assert_eq!(image.items, 101);
    }

    /// While a block is copied and not compared, another thread inserts and removes in every bucket.
    #[test]
    fn writers_go_on_while_words_are_copied() {
        const BUCKETS: usize = 3 * BLOCK;
        let table = Arc::new(Table::<Fp16x4>::try_new(BUCKETS, BUCKETS).unwrap());
        let mut hashes = 0..;
        let writes = Arc::clone(&table);
        let image = image_with(&table, move |_| {
            let (table, (send, receive)) = (Arc::clone(&writes), mpsc::channel());
            let new: Vec<u64> = hashes.by_ref().take(BUCKETS).collect();
            thread::spawn(move || {
                for &hash in &new {
                    table.insert(table.key(hash)).unwrap();
                }
                assert!(new[100..].iter().all(|&hash| table.remove(table.key(hash))));
                send.send(()).unwrap();
            });
            // Only a fault takes so long.
            receive.recv_timeout(Duration::from_secs(60)).expect("writers wait for the copy");
        });
        assert_eq!(image.items, 3 * 100);
        assert!(image.words().eq(words(&table)));
    }

    /// Writers may have stored in the table and in the mirror while a block was copied, and the copy may
    /// have stored older words after them.
    #[test]
    fn every_word_of_a_block_is_compared() {
        let table = Table::<Fp16x4>::try_new(2 * BLOCK + 10, 2 * BLOCK + 10).unwrap();
        (0..1000).for_each(|hash| table.insert(table.key(hash)).unwrap());
        let image = image_with(&table, |block| {
            for word in block {
                word.store(u64::MAX, Ordering::Relaxed);
            }
        });
        assert!(image.words().eq(words(&table)));
    }

    /// A page fault takes as long as hundreds of stores: none is left for those who hold a stripe.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_mirror_has_its_pages_before_a_stripe_is_taken() {
        use std::fs::File;
        use std::os::unix::fs::FileExt;

        // 40 MiB: memory that no allocator has had in use before.
        const BUCKETS: usize = 5 << 20;
        const PAGE: usize = 4096;
        let table = &Table::<Fp16x4>::try_new(BUCKETS, BUCKETS).unwrap();
        let locked = table.stripes.lock([1]);
        let resident = thread::scope(|scope| {
            scope.spawn(|| table.image().unwrap());
            while !table.stripes.lock([0]).is_recorded(0) {
                thread::yield_now();
            }
            let mirror = table.mirror.words.get().unwrap();
            let first_page = mirror.as_ptr().addr() / PAGE;
            let mut pages = vec![0; mirror.len() * size_of::<u64>() / PAGE * size_of::<u64>()];
            let map = File::open("/proc/self/pagemap").expect("procfs");
            let at = (first_page * size_of::<u64>()) as u64;
            map.read_exact_at(&mut pages, at).expect("an entry for each page");
            drop((mirror, locked));
            // The highest bits of an entry say whether the page is there, or swapped out.
            pages.chunks(size_of::<u64>()).filter(|entry| entry[7] >> 6 != 0).count()
        });
        assert_eq!(resident, BUCKETS * size_of::<u64>() / PAGE);
    }
}
