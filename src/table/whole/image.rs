//! Snapshots: the words of a table at one instant, while other threads use it.
//!
//! **Invariant:** from step 3 on, each word of the mirror is equal to the word of the table whenever its stripe is not
//! held.
//!
//! 1. Publish a mirror: a zero for each word of the table. A thread that adds a piece of words to a growing table adds
//!    it to the mirror first.
//! 2. For each stripe: lock it and set its flag `recording`. From then on, a writer stores each word of that stripe in
//!    the table and in the mirror.
//! 3. For each block of words: copy it into the mirror, then compare. A word that has changed meanwhile is copied
//!    again, under its stripe. From then on, these words of the mirror equal those of the table whenever their stripes
//!    are not held.
//! 4. Copy the stash, shard by shard.
//! 5. Lock all stripes. Read the extent and the counts, copy each shard of the stash again that has changed since step
//!    4, clear the flags and take the mirror away. This is the instant.
//!
//! `contains` never waits. A writer waits for one store while a flag is set or a word is copied again, and once while
//! all stripes are locked.
//!
//! Why a comparison is enough: the writer stores in the table and then in the mirror. The copy stores in the mirror and
//! then loads from the table, to compare. Each of the two has a fence in between. If the writer's fence comes first,
//! the copy reads what the writer has stored in the table, and repairs the mirror if the two differ. If the copy's
//! fence comes first, the writer's store in the mirror comes after the copy's.

use super::generations::Generations;
use crate::error::Error;
use crate::layout::Encoding;
use crate::sync::memory::{NoMemory, TryBox, try_with_capacity};
use crate::sync::{self, AtomicU64, MutexGuard, Ordering, fence};
use crate::table::buckets::growing::Pieces;
use crate::table::buckets::stripes::Stripes;
use crate::table::placing::Sizes;
use crate::table::shared::cells::CellWords;
use crate::table::shared::doubled::{self, Counted, Counts, Splitting};
use crate::table::stash::{self, Copied};
use crate::table::{Buckets, State, Table};

/// The number of words that are copied before they are compared, as many as a page has: few enough to be still in the
/// cache, and enough to make the cost of the fence small. Two in models, so that a model's table of four words has two
/// blocks.
const BLOCK: usize = if cfg!(coucal_model) { 2 } else { 512 };

/// The words of a table at one instant.
pub struct Image {
    pub(crate) sizes: Sizes,
    pub(crate) generations: Generations,
    /// The number of slots in use.
    pub(crate) occupied: usize,
    /// The entries in the stash, as the words of their cells, in order.
    pub(crate) stashed: Vec<CellWords>,
    /// The counts of doubled entries, of each value that has some.
    pub(crate) doubled_of: Vec<Counted>,
    /// The weight that merges have added.
    pub(crate) merged_weight: f64,
    /// The words of all buckets, and zeros for the next buckets, as they were allocated.
    pub(crate) words: Vec<Box<[AtomicU64]>>,
}

impl Image {
    /// Returns the number of all entries.
    pub(crate) fn entries(&self) -> u64 {
        (self.occupied + self.stashed.len()) as u64
    }

    /// Returns the counts of all doubled entries.
    pub(crate) fn doubled(&self) -> Counts {
        doubled::sum(&self.doubled_of)
    }

    /// Returns the words of all buckets.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        let words = self.words.iter().flatten().take(self.sizes.buckets);
        // Relaxed: no thread stores in it any more.
        words.map(|word| word.load(Ordering::Relaxed))
    }
}

/// A mirror in use. RAII guard: takes the mirror away on drop. While there is a mirror, no stripes and no words are
/// replaced.
pub(in crate::table) struct Recording<'a, B: Buckets> {
    table: &'a State<B>,
    /// Held all the time if the words of the table are short: the table does not grow then.
    held: Option<Held<'a>>,
}

/// The removal mutex, and then the growth mutex.
type Held<'a> = (MutexGuard<'a, ()>, Splitting<'a>);

impl<B: Buckets> Recording<'_, B> {
    /// Ends the recording: returns the table at this instant, and the mirror, which is no longer in use. Clears the
    /// flags. Calls `also` at the instant.
    fn stop(&mut self, also: impl FnOnce()) -> (Result<Image, NoMemory>, Option<TryBox<Pieces>>) {
        let table = self.table;
        // With the removal mutex, because the counts of doubled entries fit the entries of the table at the end of a
        // sweep or of a merge, and not in the middle. With the growth mutex, because a thread that adds words uses the
        // mirror meanwhile.
        let (_removing, mut splitting) = self.held.take().unwrap_or_else(|| table.hold());
        let mut doubled_of: Result<Vec<Counted>, NoMemory> = try_with_capacity(splitting.len());
        // No other thread changes the counts while the mutexes are held.
        let mut copy = |of_table: &mut Splitting<'_>| {
            if let Ok(copied) = &mut doubled_of {
                copied.clear();
                copied.extend(of_table.counted());
            }
        };
        copy(&mut splitting);
        let locked = table.lock_all();
        if splitting.limit(table.counts()) {
            copy(&mut splitting);
        }
        let image = doubled_of.map(|doubled_of| Image {
            sizes: table.sizes(),
            // No generation begins, and no merge ends, while the removal mutex is held.
            generations: table.generations(),
            merged_weight: table.merged_weight(),
            occupied: table.stripes().occupied(),
            stashed: Vec::new(),
            doubled_of,
            words: Vec::new(),
        });
        also();
        locked.stop_recording();
        // Another thread uses the mirror only while it holds a stripe, or adds words.
        (image, table.shared.mirror.words.write().take())
    }
}

impl<B: Buckets> Drop for Recording<'_, B> {
    fn drop(&mut self) {
        if self.table.is_recorded() {
            let _ = self.stop(|| {});
        }
    }
}

impl<B: Buckets> State<B> {
    /// Takes an image of the table at one instant during the call.
    ///
    /// Blocks while another thread takes an image, and as writers do.
    fn take_image(&self) -> Result<Image, Error> {
        let bytes = self.buckets.reached() * size_of::<u64>();
        self.turns.take_locked_unless(|| Some(self.turns.changes()));
        let image = self.try_image().map_err(|_| Error::OutOfMemory { bytes })?;
        self.turns.acquire_if(|| image.occupied + image.stashed.len() > 0);
        Ok(image)
    }

    fn try_image(&self) -> Result<Image, NoMemory> {
        let _taking = self.turns.lock(&self.shared.mirror.taking);
        let mut recording = self.publish_mirror()?;
        self.stripes().start_recording();
        self.with_mirror(|mirror| self.copy_into(mirror));
        let mut stash = Copied::new();
        self.copy_stash(&mut stash)?;
        // Copies only the shards that have changed since: a copy of many entries takes long.
        let mut again = Ok(());
        let (image, mirror) = recording.stop(|| again = self.copy_stash(&mut stash));
        let mut image = image?;
        again?;
        image.stashed = stash::sorted(stash)?;
        let mirror = mirror.expect("no other thread takes the mirror");
        let [words] = *mirror.into_box();
        image.words = words.try_into_slabs(image.sizes.buckets)?;
        Ok(image)
    }

    /// Publishes a mirror with all words that the table has.
    pub(in crate::table) fn publish_mirror(&self) -> Result<Recording<'_, B>, NoMemory> {
        let is_short = self.buckets.is_short();
        let held = is_short.then(|| self.hold());
        let splitting = (!is_short).then(|| self.shared.doubled.lock());
        // All words that the table has now. A thread that adds words from now on adds them to the mirror as well.
        let mirror = TryBox::try_new(Pieces::new())?;
        mirror.try_reach(self.buckets.reached())?;
        let present = self.present();
        *self.shared.mirror.words.write() = Some(mirror);
        let recording = Recording { table: self, held };
        drop(splitting);
        self.with_mirror(|mirror| {
            let words = mirror.view();
            (0..present).step_by(BLOCK).for_each(|bucket| sync::touch(words.word(bucket)));
        });
        Ok(recording)
    }

    /// Locks the removal mutex and the growth mutex: no other thread removes a value, merges or splits meanwhile.
    fn hold(&self) -> Held<'_> {
        let removing = self.lock_removing();
        (removing, self.shared.doubled.lock())
    }

    /// Returns whether a snapshot is being taken.
    pub(in crate::table) fn is_recorded(&self) -> bool {
        self.shared.mirror.words.read().is_some()
    }

    /// Calls `with` with the mirror, which is there, and returns the result.
    fn with_mirror<R>(&self, with: impl FnOnce(&Pieces) -> R) -> R {
        with(self.shared.mirror.words.read().as_deref().expect("the mirror exists"))
    }

    /// Allocates the missing words of the mirror for the first `buckets` buckets, if there is a mirror, before the
    /// table has them. Called while no stripe is held, by the thread that splits.
    pub(in crate::table) fn reach_in_mirror(&self, buckets: usize) -> Result<(), NoMemory> {
        let mirror = self.shared.mirror.words.read();
        mirror.as_ref().map_or(Ok(()), |mirror| mirror.try_reach(buckets))
    }

    /// Copies the word of a bucket to the mirror, after it was stored in the table. The bucket's stripe is locked and
    /// its flag is set.
    #[cold]
    #[inline(never)]
    pub(in crate::table) fn copy_to_mirror(&self, bucket: usize) {
        self.with_mirror(|mirror| {
            // SeqCst: pairs with the fence of `copy_into`.
            fence(Ordering::SeqCst);
            copy(self.buckets.word(bucket), mirror.view().word(bucket));
        });
    }

    /// Copies every word to the mirror, when the flags of all stripes are set. Later splits store the words of their
    /// new buckets in the mirror themselves.
    fn copy_into(&self, mirror: &Pieces) {
        let (present, words, copies) = (self.present(), self.buckets.words(), mirror.view());
        for first in (0..present).step_by(BLOCK) {
            let block = first..present.min(first + BLOCK);
            for bucket in block.clone() {
                copy(words(bucket), copies.word(bucket));
            }
            #[cfg(test)]
            tests::copied(block.clone().map(|bucket| copies.word(bucket)));
            // SeqCst: pairs with the fence of `copy_to_mirror`.
            fence(Ordering::SeqCst);
            for bucket in block {
                let (word, copied) = (words(bucket), copies.word(bucket));
                // Relaxed: the fence orders this load.
                let now = word.load(Ordering::Relaxed);
                if now != copied.load(Ordering::Relaxed) {
                    let _locked = self.lock_stripes([bucket]);
                    copy(word, copied);
                }
            }
        }
    }
}

impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Takes an image of the table at one instant during the call. When the call returns, the table has grown as if
    /// there had been no mirror.
    ///
    /// Blocks while another thread takes an image, and as writers and splits do.
    pub(crate) fn image(self) -> Result<Image, Error> {
        let image = self.take_image();
        self.widen_late();
        image
    }

    /// Counts the slots in use of a table that no other thread has.
    pub(crate) fn recount(self) {
        self.count_in(self.stripes());
    }

    /// Counts the slots in use in these stripes. No other thread has the stripes, and no thread writes meanwhile.
    pub(in crate::table) fn count_in(self, stripes: &Stripes) {
        let words = (0..self.present()).map(self.buckets.words());
        for (bucket, word) in words.enumerate() {
            // Relaxed: the caller has synchronized with all writers.
            stripes.count(bucket, F::from_bits(word.load(Ordering::Relaxed)).in_use());
        }
    }
}

/// Copies a word. Relaxed: either the stripe of the bucket orders this with other stores in these words, or the fence
/// and the comparison of `copy_into` do.
#[inline]
fn copy(word: &AtomicU64, to: &AtomicU64) {
    to.store(word.load(Ordering::Relaxed), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use core::mem;
    use std::cell::RefCell;
    use std::panic::{self, AssertUnwindSafe};
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Arc, mpsc};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::layout::Packed;
    use crate::table::buckets::control::Control;
    use crate::table::buckets::fixed::FixedBuckets;
    use crate::table::buckets::growing::GrowingBuckets;
    use crate::table::placing::entry::NoValues;

    type Fp16x4 = Packed<16, 4>;

    type Hook = dyn FnMut(&[&AtomicU64]);

    std::thread_local! {
        /// Called by a snapshot of this thread with each block of the mirror that is copied and not compared yet.
        static COPIED: RefCell<Box<Hook>> = RefCell::new(Box::new(|_| {}));
    }

    pub(in crate::table) fn copied<'a>(block: impl Iterator<Item = &'a AtomicU64>) {
        COPIED.with_borrow_mut(|hook| hook(&block.collect::<Vec<_>>()));
    }

    /// Takes an image on a thread that has this hook.
    fn image_with<B: Buckets>(
        table: Table<'_, Fp16x4, B>,
        hook: impl FnMut(&[&AtomicU64]) + Send + 'static,
    ) -> Image {
        let take = || {
            COPIED.set(Box::new(hook));
            table.image().unwrap()
        };
        thread::scope(|scope| scope.spawn(take).join().unwrap())
    }

    fn words(table: Table<'static, Fp16x4>) -> impl Iterator<Item = u64> {
        let words = (0..table.present()).map(table.state.buckets.words());
        words.map(|word| word.load(Ordering::Relaxed))
    }

    /// A panic while a snapshot is taken leaves no flag and no mirror behind.
    #[test]
    fn a_panic_takes_the_mirror_away() {
        let table = Table::<Fp16x4>::try_new(100, 100).unwrap();
        for hash in 0..100 {
            table.insert(table.key(hash)).unwrap();
        }
        let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
            let _taking = table.shared.mirror.taking.lock();
            let _recording = table.publish_mirror().unwrap();
            table.stripes().start_recording();
            let locked = table.lock_stripes([99]);
            assert!(locked.is_recorded(99));
            // While the thread holds a stripe.
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert!(!table.is_recorded());
        let locked = table.lock_all();
        assert!((0..100).all(|bucket| !locked.is_recorded(bucket)));
        drop(locked);
        // Writers look for no mirror, and another snapshot can be taken.
        table.insert(table.key(100)).unwrap();
        let image = table.image().unwrap();
        assert!(image.words().eq(words(table)));
        assert_eq!(image.occupied, 101);
    }

    /// While a block is copied and not compared, another thread inserts and removes in every bucket.
    #[test]
    fn writers_go_on_while_words_are_copied() {
        const BUCKETS: usize = 3 * BLOCK;
        let table = Table::<Fp16x4>::try_new(BUCKETS, BUCKETS).unwrap();
        let mut hashes = 0..;
        let image = image_with(table, move |_| {
            let (send, receive) = mpsc::channel();
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
        assert_eq!(image.occupied, 3 * 100);
        assert!(image.words().eq(words(table)));
    }

    /// Writers may have stored in the table and in the mirror while a block was copied, and the copy may
    /// have stored older words after them.
    #[test]
    fn every_word_of_a_block_is_compared() {
        let table = Table::<Fp16x4>::try_new(2 * BLOCK + 10, 2 * BLOCK + 10).unwrap();
        (0..1000).for_each(|hash| table.insert(table.key(hash)).unwrap());
        let image = image_with(table, |block| {
            for word in block {
                word.store(u64::MAX, Ordering::Relaxed);
            }
        });
        assert!(image.words().eq(words(table)));
    }

    /// The words of a short table would be replaced, and nothing is replaced while there is a mirror.
    #[test]
    fn a_short_table_does_not_grow_while_a_snapshot_is_taken() {
        for (buckets, is_short) in [(32, true), (2 << 10, false)] {
            let table = Table::<Fp16x4, GrowingBuckets>::try_new(buckets, 1 << 16).unwrap();
            let may_split = move || table.shared.doubled.try_lock().is_some();
            let blocks = Arc::new(AtomicUsize::new(0));
            let copied = Arc::clone(&blocks);
            image_with(table, move |_| {
                assert_eq!(may_split(), !is_short);
                copied.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(blocks.load(Ordering::Relaxed), buckets.div_ceil(BLOCK));
            assert!(may_split());
        }
    }

    /// Words for which the mirror has no memory change nothing in the table. Without the mirror the table grows.
    #[test]
    fn growth_ends_where_the_mirror_has_no_memory() {
        const FIRST: usize = 1 << 12;
        let table = Table::<Fp16x4, GrowingBuckets>::try_new(FIRST, 1 << 16).unwrap();
        let mut words = Pieces::new();
        words.memory = FIRST;
        words.try_reach(FIRST).unwrap();
        *table.shared.mirror.words.write() = Some(TryBox::try_new(words).unwrap());
        assert_eq!(table.grow_to(5000), Err(NoMemory { bytes: 5000 * 8 }));
        assert_eq!((table.present(), table.buckets.reached()), (FIRST, FIRST));
        *table.shared.mirror.words.write() = None;
        assert_eq!(table.grow_to(5000), Ok(()));
        assert_eq!((table.present(), table.buckets.reached()), (5000, 5 << 10));
    }

    /// Also if the first insert after the snapshot splits nothing, since there is room for all items.
    #[test]
    fn a_table_that_grows_beside_a_snapshot_is_widened_after_it() {
        const MOST: usize = 1 << 16;
        let table = Table::<Fp16x4, GrowingBuckets>::try_new(1 << 10, MOST).unwrap();
        (0..2000).for_each(|hash| table.insert(table.key(hash)).unwrap());
        let mut has_grown = false;
        let image = image_with(table, move |_| {
            if !mem::replace(&mut has_grown, true) {
                table.grow_to(MOST as u64).unwrap();
                // The flags of its stripes are set.
                assert_eq!(table.stripes().len(), Control::stripes(1 << 10, MOST as u64));
            }
        });
        assert_eq!((table.present(), image.occupied), (MOST, table.occupied()));
        let Control { stripes, versions } =
            Control::try_new(Control::stripes(MOST as u64, MOST as u64), MOST as u64).unwrap();
        assert_eq!(table.stripes().len(), stripes.len());
        assert_eq!(table.versions().len(), versions.len());
        assert!((0..2000).all(|hash| table.contains(table.key(hash))));
        assert!(table.restored().unwrap().stripes().counts().eq(table.stripes().counts()));
    }

    /// While an entry moves, it may be counted twice or nowhere. So the count of doubled entries is limited while all
    /// stripes are held: then nothing moves.
    #[test]
    fn doubled_entries_are_limited_between_two_moves() {
        let table = Table::<Fp16x4, GrowingBuckets>::try_new(64, 64).unwrap();
        (0..100).for_each(|hash| table.insert(table.key(hash)).unwrap());
        let doubled = Counts::of_slots(100);
        table.shared.doubled.lock().reserve(1, 0).unwrap();
        table.shared.doubled.lock().add(0, doubled);
        let bucket = (0..64).find(|&bucket| table.word_now(bucket).in_use() > 0).unwrap();
        let (send, receive) = mpsc::channel();
        thread::scope(|scope| {
            let locked = table.lock_stripes([bucket]);
            locked.vacate(bucket, 1);
            scope.spawn(move || {
                drop(table.publish_mirror().unwrap().stop(|| {}));
                send.send(()).unwrap();
            });
            // The call waits for the stripe.
            let waited = receive.recv_timeout(Duration::from_millis(100));
            locked.occupy(bucket, 1);
            drop(locked);
            assert!(waited.is_err());
        });
        assert_eq!((table.doubled(), table.len()), (doubled, 0));
    }

    /// For tables with more segments than stripes; the growing ones have several pieces.
    #[test]
    fn restored_stripes_count_their_own_buckets() {
        fn check<B: Buckets<Values = NoValues> + 'static>(first: usize, max_buckets: usize) {
            let table = Table::<Fp16x4, B>::try_new(first, max_buckets).unwrap();
            (0..50_000).for_each(|hash| table.insert(table.key(hash)).unwrap());
            let restored = table.restored().unwrap();
            assert!(restored.present() > 3 * restored.stripes().distance());
            assert!(restored.stripes().counts().eq(table.stripes().counts()));
        }
        check::<FixedBuckets>(20_002, 20_002);
        for (first, max_buckets) in [(1 << 10, 1 << 14), (5002, 20_000), (3000, 18_000)] {
            check::<GrowingBuckets>(first, max_buckets);
        }
    }

    /// A page fault takes as long as hundreds of stores: it must not happen to a thread that holds a stripe.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_mirror_has_its_pages_before_a_stripe_is_taken() {
        use std::fs::File;
        use std::os::unix::fs::FileExt;

        // 40 MiB: memory that no allocator has used before.
        const BUCKETS: usize = 5 << 20;
        const PAGE: usize = 4096;
        let table = &Table::<Fp16x4>::try_new(BUCKETS, BUCKETS).unwrap();
        let locked = table.lock_stripes([Stripes::first_bucket(1)]);
        let resident = thread::scope(|scope| {
            scope.spawn(|| table.image().unwrap());
            while !table.lock_stripes([0]).is_recorded(0) {
                thread::yield_now();
            }
            let recording = table.shared.mirror.words.read();
            let mirror = recording.as_ref().unwrap().view();
            let first_page = core::ptr::from_ref(mirror.word(0)).addr() / PAGE;
            let mut pages = vec![0; mirror.len() * size_of::<u64>() / PAGE * size_of::<u64>()];
            let map = File::open("/proc/self/pagemap").expect("procfs");
            let at = (first_page * size_of::<u64>()) as u64;
            map.read_exact_at(&mut pages, at).expect("an entry for each page");
            drop((recording, locked));
            // The highest bits of an entry say whether the page is there, or swapped out.
            pages.chunks(size_of::<u64>()).filter(|entry| entry[7] >> 6 != 0).count()
        });
        assert_eq!(resident, BUCKETS * size_of::<u64>() / PAGE);
    }
}
