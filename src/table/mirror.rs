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
        Ok(Image { extent, items, words })
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
        let Image { extent, words, .. } = image;
        let table = Self::try_with_words(extent, words)?;
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
    use std::panic::{self, AssertUnwindSafe};

    use super::*;
    use crate::layout::Fp16x4;

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
}
