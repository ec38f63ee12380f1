//! loom's model of a machine, with a hook after each step. Under `--cfg coucal_model` it is a module of `coucal`, in
//! place of `src/sync/machine.rs`.

use core::cell::{Cell, RefCell};
use core::marker::PhantomData;

pub(crate) use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicU32;
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering, fence};

/// An access to shared memory, a lock taken, or words allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A word or a version was read.
    Load,
    /// A word was written.
    Store,
    /// A version was bumped, or an inconclusive lookup counted.
    Add,
    /// A stripe was locked.
    Lock,
    /// Words were allocated.
    Allocate,
}

type Hook = Box<dyn FnMut(Step)>;

loom::thread_local! {
    static HOOK: RefCell<Option<Hook>> = RefCell::new(None);
}

// The `thread_local` of the standard library: loom runs all threads of a model on the thread of its test.
std::thread_local! {
    /// Whether a thread of a model has had a hook. (A look at the thread-local of loom takes a tenth of the time of a
    /// model.)
    static HOOKED: Cell<bool> = const { Cell::new(false) };
    static SEQ_CST_IS_EXACT: Cell<bool> = const { Cell::new(false) };
    static CELLS_OF_TWO_WORDS: Cell<bool> = const { Cell::new(false) };
}

/// Calls `hook` after each step of the calling thread, except for the steps of the hook itself.
pub fn after_each_step(hook: impl FnMut(Step) + 'static) {
    HOOKED.set(true);
    HOOK.with(|slot| *slot.borrow_mut() = Some(Box::new(hook)));
}

fn stepped(step: Step) {
    if !HOOKED.get() {
        return;
    }
    let hook = HOOK.with(|slot| slot.borrow_mut().take());
    if let Some(mut hook) = hook {
        hook(step);
        HOOK.with(|slot| *slot.borrow_mut() = Some(hook));
    }
}

/// Sets whether the models that this test runs from now on keep `SeqCst`. Otherwise it means Acquire and Release.
///
/// loom makes a `SeqCst` load read the newest `SeqCst` store. That is right for these two accesses, but too strong for
/// the accesses around them: a Relaxed load before a `SeqCst` load could never be late, and a fault there would stay
/// hidden. So models use the weaker ordering, except those about `SeqCst` itself.
pub fn set_seq_cst_is_exact(exact: bool) {
    SEQ_CST_IS_EXACT.set(exact);
}

/// Sets whether each cell of the stash has two words, in the models of this thread from now on. Otherwise a cell is one
/// word, of which one bit counts copies.
pub fn set_cells_of_two_words(of_two_words: bool) {
    CELLS_OF_TWO_WORDS.set(of_two_words);
}

/// Returns where the number of copies begins in a cell of one word; 63 if there are no such cells.
pub(crate) fn copies_in_one_word() -> u32 {
    if CELLS_OF_TWO_WORDS.get() { 63 } else { 62 }
}

fn modelled(order: Ordering, weaker: Ordering) -> Ordering {
    if order == Ordering::SeqCst && !SEQ_CST_IS_EXACT.get() { weaker } else { order }
}

loom::thread_local! {
    static MOVING: Cell<Option<Ordering>> = Cell::new(None);
}

/// Calls `moves`. If `SeqCst` is exact, its stores of words with this order are `SeqCst` stores. Otherwise the
/// published loom would let a `SeqCst` load read them after a newer `SeqCst` store has replaced them, which no language
/// allows.
pub(crate) fn moving<T>(order: Ordering, moves: impl FnOnce() -> T) -> T {
    MOVING.with(|moving| moving.set(Some(order)));
    let result = moves();
    MOVING.with(|moving| moving.set(None));
    result
}

/// loom's atomic word, which calls the hook after each access.
#[derive(Debug, Default)]
pub struct AtomicU64 {
    atomic: loom::sync::atomic::AtomicU64,
    /// Whether it is an element of an array: the word of a bucket, or a version.
    in_array: bool,
}

impl AtomicU64 {
    pub(crate) fn new(value: u64) -> Self {
        Self { atomic: loom::sync::atomic::AtomicU64::new(value), in_array: false }
    }

    pub fn load(&self, order: Ordering) -> u64 {
        let value = self.atomic.load(modelled(order, Ordering::Acquire));
        stepped(Step::Load);
        value
    }

    pub fn store(&self, value: u64, order: Ordering) {
        let moves =
            self.in_array && SEQ_CST_IS_EXACT.get() && MOVING.with(Cell::get) == Some(order);
        let order = if moves { Ordering::SeqCst } else { modelled(order, Ordering::Release) };
        self.atomic.store(value, order);
        stepped(Step::Store);
    }

    pub(crate) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        let before = self.atomic.fetch_add(value, order);
        stepped(Step::Add);
        before
    }

    pub(crate) fn swap(&self, value: u64, order: Ordering) -> u64 {
        self.atomic.swap(value, order)
    }

    pub(crate) fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.atomic.compare_exchange(current, new, success, failure)
    }

    pub(crate) fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
        self.atomic.fetch_max(value, order)
    }
}

/// Loads a word that is stored only under a mutex, which the caller holds. It has only one value, so loom explores
/// nothing here. A store without the mutex makes loom panic.
#[allow(unsafe_code, reason = "loom's load that is no step of a model")]
pub(crate) fn load_locked(word: &AtomicU64) -> u64 {
    // SAFETY: loom panics if a store to the word is not ordered with this load.
    let value = unsafe { word.atomic.unsync_load() };
    stepped(Step::Load);
    value
}

/// loom's atomic pointer.
#[derive(Debug)]
pub(crate) struct AtomicPtr<T>(loom::sync::atomic::AtomicPtr<T>);

impl<T> AtomicPtr<T> {
    pub(crate) fn new(value: *mut T) -> Self {
        Self(loom::sync::atomic::AtomicPtr::new(value))
    }

    pub(crate) fn load(&self, order: Ordering) -> *mut T {
        self.0.load(modelled(order, Ordering::Acquire))
    }

    pub(crate) fn store(&self, value: *mut T, order: Ordering) {
        self.0.store(value, modelled(order, Ordering::Release));
    }
}

/// A number that orders nothing.
pub(crate) struct Count {
    modelled: AtomicU32,
    /// An atomic of the standard library, not of loom.
    newest: std::sync::atomic::AtomicU32,
}

impl Count {
    pub(crate) fn new(value: u32) -> Self {
        Self { modelled: AtomicU32::new(value), newest: value.into() }
    }

    pub(crate) fn get(&self) -> u32 {
        self.modelled.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, value: u32) {
        self.modelled.store(value, Ordering::Relaxed);
        self.newest.store(value, Ordering::Relaxed);
    }

    /// Returns the newest value. Every old value of each count would multiply the executions of a model, by ten and
    /// more as measured.
    pub(crate) fn hint(&self) -> u32 {
        self.newest.load(Ordering::Relaxed)
    }
}

/// A flag that a lock protects. An atomic of the standard library, not of loom: a thread that holds the lock sees the
/// newest value anyway.
pub(crate) struct Flag(std::sync::atomic::AtomicBool);

impl Flag {
    pub(crate) fn new() -> Self {
        Self(std::sync::atomic::AtomicBool::new(false))
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, value: bool) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// loom's mutex in place of the lock of this crate, which has models of its own. A thread that loom knows to be waiting
/// costs a model far fewer executions than one that tries again and again. The mutex holds whether the lock is retired.
pub(crate) struct Lock(loom::sync::Mutex<bool>);

impl Lock {
    pub(crate) fn new() -> Self {
        Self(loom::sync::Mutex::new(false))
    }

    pub(crate) fn lock(&self) -> Option<Guard<'_>> {
        let guard = self.0.lock().expect("no thread panics while it holds a stripe");
        stepped(Step::Lock);
        if *guard { None } else { Some(guard) }
    }
}

pub(crate) type Guard<'a> = loom::sync::MutexGuard<'a, bool>;

/// RAII guard: unlocks every lock of a slice on drop.
pub(crate) struct Guards<'a, T> {
    guards: Vec<Guard<'a>>,
    locks: PhantomData<&'a [T]>,
}

impl<'a, T: AsRef<Lock>> Guards<'a, T> {
    pub(crate) fn lock(locks: &'a [T]) -> Option<Self> {
        let guards: Option<_> = locks.iter().map(|lock| lock.as_ref().lock()).collect();
        Some(Self { guards: guards?, locks: PhantomData })
    }

    pub(crate) fn retire(mut self) {
        self.guards.iter_mut().for_each(|guard| **guard = true);
    }
}

/// Replaces the `OnceLock` of the standard library, which loom does not know.
pub(crate) struct SetOnce<T> {
    value: std::sync::OnceLock<T>,
    is_set: AtomicBool,
    setting: Mutex<()>,
}

impl<T> SetOnce<T> {
    pub(crate) fn new() -> Self {
        Self {
            value: std::sync::OnceLock::new(),
            is_set: AtomicBool::new(false),
            setting: Mutex::new(()),
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        // Acquire: pairs with the store in `set`.
        if self.is_set.load(Ordering::Acquire) { self.value.get() } else { None }
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        // A thread that is late waits for the other one.
        let _setting = self.setting.lock();
        let set = self.value.set(value);
        self.is_set.store(true, Ordering::Release);
        set
    }
}

/// loom's mutex, in place of that of `parking_lot`.
#[derive(Default)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

pub(crate) type MutexGuard<'a, T> = loom::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("no thread panics while it holds it")
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }
}

/// loom's lock, in place of that of `parking_lot`.
#[derive(Default)]
pub(crate) struct RwLock<T>(loom::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(crate) fn read(&self) -> loom::sync::RwLockReadGuard<'_, T> {
        self.0.read().expect("no thread panics while it holds it")
    }

    pub(crate) fn write(&self) -> loom::sync::RwLockWriteGuard<'_, T> {
        self.0.write().expect("no thread panics while it holds it")
    }
}

/// A turn for the other threads: loom has to be told of every wait.
pub(crate) struct Backoff;

impl Backoff {
    pub(crate) fn new() -> Self {
        Self
    }

    /// Does not even yield: a step that is tried again a bounded number of times may go on at once.
    #[allow(clippy::unused_self)]
    pub(crate) fn snooze(&self) {}

    #[allow(clippy::unused_self)]
    pub(crate) fn sleep(&self) {
        loom::thread::yield_now();
    }
}

/// Returns 0, so that the hashes are the same in every execution of a model.
pub(crate) fn random_seed() -> u64 {
    0
}

#[allow(clippy::unnecessary_wraps)]
pub(crate) fn try_zeroed(len: usize) -> Option<Box<[AtomicU64]>> {
    let words = (0..len).map(|_| AtomicU64 { in_array: true, ..AtomicU64::new(0) }).collect();
    stepped(Step::Allocate);
    Some(words)
}

/// Does nothing: there are no pages in a model.
pub(crate) fn touch(_: &AtomicU64) {}
