//! Snapshots: the words of a table at one instant, while other threads use it.
//!
//! 1. Allocate a mirror: a zero for each word that the table may ever have.
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
use super::address::{Buckets, Growing};
use super::stripes::{All, Locked, MAX_STRIPES};
use crate::error::SnapshotError;
use crate::extent::Extent;
use crate::layout::{Layout, Word};
use crate::sync::{self, AtomicU64, Mutex, Ordering, Published, fence};

/// Words that are copied before they are compared: few enough to be still in the cache, and enough to
/// make the cost of the fence small. Two under loom, so that a model's table of four words has two
/// blocks.
const BLOCK: usize = if cfg!(loom) { 2 } else { 512 };

type Words = Box<[AtomicU64]>;

/// The words of a table at one instant.
pub struct Image {
    pub(crate) extent: Extent,
    /// The target load of a growing table, in thousandths; 0 for a table of fixed size.
    pub(crate) target_load: u32,
    /// Slots in use.
    pub(crate) items: usize,
    /// The words of all buckets, and zeros for buckets that growth may add.
    pub(crate) words: Words,
}

impl Image {
    /// The words of all buckets.
    pub(crate) fn words(&self) -> impl ExactSizeIterator<Item = u64> {
        // Relaxed: nobody stores in it any more.
        self.words[..self.extent.buckets()].iter().map(|word| word.load(Ordering::Relaxed))
    }
}

/// A second place for every store of a word, while a snapshot is taken.
pub(super) struct Mirror {
    /// Held by whoever takes a snapshot. It is taken before any stripe.
    taking: Mutex,
    words: Published<Words>,
}

impl Mirror {
    pub(super) fn new() -> Self {
        Self { taking: Mutex::new(), words: Published::none() }
    }
}

/// A mirror in use. RAII guard: takes it away on drop, unless `stop` has.
struct Recording<'a, L: Layout, B: Buckets> {
    table: &'a Table<L, B>,
}

impl<'a, L: Layout, B: Buckets> Recording<'a, L, B> {
    /// Sets the flag of each stripe.
    fn start(table: &'a Table<L, B>, words: Arc<Words>) -> Self {
        table.mirror.words.replace(Some(words));
        let recording = Self { table };
        table.stripes.start_recording();
        recording
    }

    /// Clears the flags, while all stripes are locked, and takes the mirror away.
    fn stop(&self, locked: &Locked<'_, All<'_>>) -> Option<Words> {
        locked.stop_recording();
        // Another thread has a reference to it only while it holds a stripe.
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
        let max_buckets = self.buckets.words().len();
        let no_memory = SnapshotError::OutOfMemory { bytes: max_buckets * size_of::<u64>() };
        let words = Arc::new(sync::try_zeroed(max_buckets).ok_or(no_memory)?);
        sync::touch(&words[..self.present().len()]);
        let recording = Recording::start(self, Arc::clone(&words));
        self.copy_into(&words);
        drop(words);

        let locked = self.stripes.lock_all();
        let extent = self.buckets.growing().map_or(Extent::start(self.rows()), Growing::extent);
        let items = self.stripes.occupied();
        let words = recording.stop(&locked).expect("nobody else takes the mirror");
        drop(locked);
        Ok(Image { extent, target_load: self.target_load(), items, words })
    }

    /// For the models: an `image` that ends early.
    #[cfg(loom)]
    pub(crate) fn abandon_image(&self) {
        let _taking = self.mirror.taking.lock();
        let words = Arc::new(sync::try_zeroed(self.buckets.words().len()).expect("a small table"));
        drop(Recording::start(self, words));
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
        copy(self.buckets.word(bucket), &words[bucket]);
    }

    /// Copies every word, when the flags of all stripes are set. Later splits store the words of their new
    /// buckets in the mirror themselves.
    fn copy_into(&self, mirror: &[AtomicU64]) {
        let words = self.present();
        for start in (0..words.len()).step_by(BLOCK) {
            let block = start..words.len().min(start + BLOCK);
            for bucket in block.clone() {
                copy(&words[bucket], &mirror[bucket]);
            }
            #[cfg(all(test, not(loom)))]
            tests::copied(&mirror[block.clone()]);
            // SeqCst: pairs with the fence of `copy_to_mirror`.
            fence(Ordering::SeqCst);
            for bucket in block {
                // Relaxed: the fence orders this load.
                let now = words[bucket].load(Ordering::Relaxed);
                if now != mirror[bucket].load(Ordering::Relaxed) {
                    let _locked = self.stripes.lock([bucket]);
                    copy(&words[bucket], &mirror[bucket]);
                }
            }
        }
    }

    /// The table of an image, which may grow to as many buckets as the image has words; `None` if the
    /// allocator has no memory for it.
    pub(crate) fn from_image(image: Image) -> Option<Self> {
        let Image { extent, target_load, words, .. } = image;
        let table = Self::try_with_words(extent, target_load, words)?;
        let locked = table.stripes.lock_all();
        // Buckets at this distance have the same stripe, however many stripes there are.
        let mut occupied = vec![0; MAX_STRIPES.min(table.present().len())];
        for words in table.present().chunks(MAX_STRIPES) {
            for (occupied, word) in occupied.iter_mut().zip(words) {
                // Relaxed: no other thread has it yet.
                *occupied += Word::<L>::from_bits(word.load(Ordering::Relaxed)).in_use();
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
            let words = Arc::new(sync::try_zeroed(100).unwrap());
            let _recording = Recording::start(&table, Arc::clone(&words));
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
        let locked = table.stripes.lock([0]);
        let resident = thread::scope(|scope| {
            scope.spawn(|| table.image().unwrap());
            let mirror = loop {
                match table.mirror.words.get() {
                    Some(mirror) => break mirror,
                    None => thread::yield_now(),
                }
            };
            let first_page = mirror.as_ptr().addr() / PAGE;
            let mut pages = vec![0; size_of_val(&**mirror) / PAGE * size_of::<u64>()];
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
