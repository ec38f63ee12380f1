//! The loom with which the models run: the one of the registry, with changes that `docs/loom.md` explains.

// Only the programs of this package call these functions.
#![allow(clippy::missing_errors_doc)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

use crate::source::{Result, Source};

/// The flags with which the models, and all crates that they use, are compiled.
pub const RUSTFLAGS: &str = "--cfg loom --cfg coucal_model";

/// A change of a text that occurs once in a function, or in a type. A blank in it stands for any white space and
/// comments.
struct Change {
    file: &'static str,
    item: &'static str,
    text: &'static str,
    new: &'static str,
}

macro_rules! changes {
    ($($file:ident $item:ident: $verb:ident $one:literal $word:ident $other:literal;)*) => {
        &[$(change!($file, stringify!($item), $verb $one $word $other),)*]
    };
}

macro_rules! change {
    ($file:expr, $item:expr, add $new:literal before $text:literal) => {
        Change { file: $file, item: $item, text: $text, new: concat!($new, " ", $text) }
    };
    ($file:expr, $item:expr, add $new:literal after $text:literal) => {
        Change { file: $file, item: $item, text: $text, new: concat!($text, " ", $new) }
    };
    ($file:expr, $item:expr, replace $text:literal with $new:literal) => {
        Change { file: $file, item: $item, text: $text, new: $new }
    };
}

const MODEL: &str = "src/model.rs";
const ATOMIC: &str = "src/rt/atomic.rs";
const EXECUTION: &str = "src/rt/execution.rs";
const MUTEX: &str = "src/rt/mutex.rs";
const OBJECT: &str = "src/rt/object.rs";
const PATH: &str = "src/rt/path.rs";
const RWLOCK: &str = "src/rt/rwlock.rs";
const SCHEDULER: &str = "src/rt/scheduler.rs";
const SYNC_MUTEX: &str = "src/sync/mutex.rs";

/// Additions: a second mode, which runs every schedule within the bound: the first mode is tested against it. And each
/// execution uses the stacks of the one before, which saves at least half of the time of a model.
const ADDITIONS: &[Change] = changes! {
    MODEL Builder: add "
        /// Tries each thread that can go on at each point, while the bound of preemptions allows it.
        pub every_schedule: bool,"
        after "pub expect_explicit_explore: bool,";
    MODEL new: add "every_schedule: false," after "expect_explicit_explore: false,";
    MODEL check: add "execution.path.every_schedule = self.every_schedule;"
        after "execution.log = self.log;";
    PATH Path: add "pub(crate) every_schedule: bool," after "exploring_on_start: bool,";
    PATH new: add "every_schedule: false," after "exploring_on_start: exploring,";
    PATH branch_thread: add "
        if self.every_schedule && schedule.exploring && schedule.may_switch(self.preemption_bound) {
            schedule.threads.iter_mut().for_each(Thread::explore);
        }"
        after "schedule.preemptions = preemptions;";
    PATH backtrack: add "
        /// Whether another thread than the last one may go on. That is no preemption where the last one cannot.
        fn may_switch(&self, bound: Option<u8>) -> bool {
            self.initial_active.is_none() || bound.map_or(true, |bound| self.preemptions < bound)
        }"
        before "fn backtrack(&mut self, thread_id";

    SCHEDULER Scheduler: add "idle: Vec<Thread>," after "max_threads: usize,";
    SCHEDULER new: add "idle: Vec::new()," after "max_threads: capacity,";
    SCHEDULER run: replace "threads.push(spawn_thread(Box::new(f), None)); threads[0].resume();"
        with "threads.push(self.start_thread(Box::new(f), None));";
    SCHEDULER run: replace "for thread in &mut threads { thread.resume(); assert!(thread.is_done()); }"
        with "self.idle.append(&mut threads);";
    SCHEDULER run: replace "let thread_id = threads.len();" with "";
    SCHEDULER run: replace "threads.push(spawn_thread(f, stack_size)); threads[thread_id].resume();"
        with "threads.push(self.start_thread(f, stack_size));";
    SCHEDULER tick: add "
        fn start_thread(&mut self, f: Box<dyn FnOnce()>, stack_size: Option<usize>) -> Thread {
            let mut thread = match (self.idle.pop(), stack_size) {
                (Some(mut idle), None) => {
                    idle.set_para(Some(f));
                    idle
                }
                _ => spawn_thread(f, stack_size),
            };
            thread.resume();
            thread
        }"
        before "fn tick(";
};

/// The mended defects.
const MENDS: &[Change] = changes! {
    // A store depends on the last load of each thread, not only on the last access.
    ATOMIC State: add "loads: Vec<Access>," after "last_access: Option<Access>,";
    ATOMIC new: add "loads: Vec::new()," after "last_access: None,";
    ATOMIC set_last_access: replace "Action::Load => {} _ => {" with "
        Action::Load => {
            self.loads.retain(|load| !load.happens_before(version));
            self.loads.push(Access::new(path_id, version));
        }
        _ => {
            self.loads.clear();";
    ATOMIC stores_mut: add "
        pub(super) fn loads_before(&self, action: Action) -> &[Access] {
            if action == Action::Load { &[] } else { &self.loads }
        }"
        before "fn stores_mut(";
    OBJECT set_last_access: add "
        pub(super) fn dependent_accesses(&self, operation: Operation) -> impl Iterator<Item = &Access> {
            let others = match &self.entries[operation.obj.index] {
                Entry::Atomic(entry) => entry.loads_before(operation.action.into()),
                Entry::Mutex(entry) => entry.unlocks_before(operation.action),
                _ => &[],
            };
            self.last_dependent_access(operation).into_iter().chain(others)
        }"
        before "pub(super) fn set_last_access";
    EXECUTION schedule: replace
        "None => continue, }; if let Some(access) = self.objects.last_dependent_access(operation)" with
        "None => continue, }; for access in self.objects.dependent_accesses(operation)";
    EXECUTION schedule: replace
        "threads.active_id(); if let Some(access) = self.objects.last_dependent_access(operation)" with
        "threads.active_id(); for access in self.objects.dependent_accesses(operation)";

    // At the bound, and at the first point, another thread than the last one may go on if the last one cannot.
    PATH backtrack: replace "if self.preemptions == bound {"
        with "if !self.may_switch(preemption_bound) {";
    PATH branch_thread: replace "
        if let Some(prev) = prev {
            if initial_active != prev.get(&self.branches).active_thread_index() {
                initial_active = None;
            }
        }"
        with "
        let last = match prev {
            Some(prev) => prev.get(&self.branches).active_thread_index(),
            None => Some(0),
        };
        if initial_active != last {
            initial_active = None;
        }";

    // If a thread was preempted while it held a lock, and another one waits for the lock, the first one goes on without
    // a preemption. So the other thread is tried before each unlock, and not only where it comes first among those that
    // differ.
    PATH Schedule: add "unlocks: bool," after "initial_active: Option<u8>,";
    PATH branch_thread: add "unlocks: false," after "initial_active: None,";
    PATH step: add "schedule.unlocks = false;" after "*thread = Thread::Visited; }";
    PATH last_schedule: add "
        pub(super) fn unlocks(&mut self) {
            if let (true, Some(schedule)) = (self.is_traversed(), self.last_schedule()) {
                schedule.get_mut(&mut self.branches).unlocks = true;
            }
        }"
        before "fn last_schedule(";
    PATH backtrack: add "
        let schedule = curr.get_mut(&mut self.branches);
        if schedule.unlocks && schedule.exploring {
            schedule.backtrack(thread_id, self.preemption_bound);
        }"
        before "if active_a != active_b";
    MUTEX release_lock: add "execution.path.unlocks();"
        before "let state = self.state.get_mut(&mut execution.objects);";
    RWLOCK release_read_lock: add "execution.path.unlocks();"
        before "let state = self.state.get_mut(&mut execution.objects);";
    RWLOCK release_write_lock: add "execution.path.unlocks();"
        before "let state = self.state.get_mut(&mut execution.objects);";

    // An unlock is a point where another thread may try to lock; a thread that only tries does not wait. What was done
    // under a mutex happens before what is done under it later: so the other order need not be tried.
    OBJECT Action: add "Lock, TryLock, Unlock," after "Opaque,";
    MUTEX State: add "last_unlock: Option<Access>," after "last_access: Option<Access>,";
    MUTEX new: add "last_unlock: None," after "last_access: None,";
    MUTEX acquire_lock: replace "branch_acquire(self.is_locked(), location)"
        with "branch_disable(object::Action::Lock, self.is_locked(), location)";
    MUTEX try_acquire_lock: replace "branch_opaque(location)"
        with "branch_action(object::Action::TryLock, location)";
    MUTEX release_lock: add "
        pub(crate) fn branch_unlock(&self) {
            if !std::thread::panicking() {
                self.state.branch_action(object::Action::Unlock, Location::disabled());
            }
        }"
        before "pub(crate) fn release_lock(";
    SYNC_MUTEX drop: add "self.lock.object.branch_unlock();" before "self.data = None;";
    MUTEX post_acquire: add "
        if let Some(unlock) = &state.last_unlock {
            execution.threads.active_mut().dpor_vv.join(unlock.version());
        }"
        after "state.lock = Some(thread_id);";
    MUTEX post_acquire: add "&& operation.action() == object::Action::Lock"
        after "if operation.object() == self.state.erase()";
    MUTEX set_last_access: replace "
        pub(crate) fn set_last_access(&mut self, path_id: usize, version: &VersionVec) {
            Access::set_or_create(&mut self.last_access, path_id, version);"
        with "
        pub(super) fn unlocks_before(&self, action: object::Action) -> &[Access] {
            if action == object::Action::TryLock { self.last_unlock.as_slice() } else { &[] }
        }

        pub(super) fn set_last_access(
            &mut self,
            action: object::Action,
            path_id: usize,
            version: &VersionVec,
        ) {
            let unlocks = action == object::Action::Unlock;
            let last = if unlocks { &mut self.last_unlock } else { &mut self.last_access };
            Access::set_or_create(last, path_id, version);";
    OBJECT set_last_access: replace "Entry::Mutex(entry) => entry.set_last_access(path_id, dpor_vv),"
        with "Entry::Mutex(entry) => entry.set_last_access(operation.action, path_id, dpor_vv),";

    // A lock orders nothing between two readers.
    RWLOCK State: add "by_readers: Synchronize," after "synchronize: Synchronize,";
    RWLOCK new: add "by_readers: Synchronize::new()," after "synchronize: Synchronize::new(),";
    RWLOCK release_read_lock: replace "state .synchronize .sync_store("
        with "state.by_readers.sync_store(";
    RWLOCK post_acquire_write_lock: add "state.by_readers.sync_load(&mut execution.threads, Acquire);"
        before "state.synchronize.sync_load(";

    // SeqCst fences have one order.
    EXECUTION Execution: add "pub(super) fences: Option<object::Ref<crate::rt::atomic::State>>,"
        after "pub(super) objects: object::Store,";
    EXECUTION new: add "fences: None," after "objects: object::Store::with_capacity(max_branches),";
    EXECUTION step: add "fences: None," after "path, threads, objects,";
    ATOMIC fence: add "
        if is_seq_cst(ordering) {
            let fences = rt::execution(|execution| {
                if execution.fences.is_none() {
                    let state = State::new(&mut execution.threads, 0, Location::disabled());
                    execution.fences = Some(execution.objects.insert(state));
                }
                execution.fences
            });
            fences.unwrap().branch_action(Action::Rmw, Location::disabled());
        }"
        before "rt::synchronize(";

    // So do all SeqCst accesses to a word: a load comes after each store that an earlier one has read or stored. So the
    // order of two such loads matters. And the order of all stores to a word is transitive.
    ATOMIC load: replace "self.branch(Action::Load, location);" with "
        let action = if is_seq_cst(ordering) { Action::Rmw } else { Action::Load };
        self.branch(action, location);";
    ATOMIC load: add "store.seq_cst |= is_seq_cst(ordering);" before "store.first_seen.touch(threads);";
    ATOMIC match_load_to_stores: replace "is_seq_cst(ordering) && store_i.seq_cst && store_j.seq_cst"
        with "is_seq_cst(ordering) && store_j.seq_cst";
    ATOMIC store: add "|| is_seq_cst(ordering) && self.stores[i].seq_cst"
        after "if self.stores[i].first_seen.is_seen_by_current(threads)";
    ATOMIC apply_load_coherence: replace "for i in 0..self.stores.len()" with "
        let before = self.stores[index].modification_order;
        let stored = cmp::min(self.cnt as usize, MAX_ATOMIC_HISTORY);
        for i in 0..stored";
    ATOMIC apply_load_coherence: replace "join(&mo); } } }" with "join(&mo); } }
        let after = self.stores[index].modification_order;
        for store in &mut self.stores[..stored] {
            if before < store.modification_order {
                store.modification_order.join(&after);
            }
        } }";

    // Where a thread that has yielded cannot be tried, all others are tried. After a yield, those threads go on that
    // have yielded least often: otherwise two threads that wait for a third one take turns for ever.
    PATH is_enabled: add "&& *self != Thread::Yield" after "!self.is_disabled()";
    EXECUTION schedule: add "
        let yielded = self.threads.active().is_yield();
        let runnable = |&(_, th): &(thread::Id, &thread::Thread)| th.is_runnable();
        let least = self.threads.iter().filter(runnable).map(|(_, th)| th.yield_count).min();"
        before "let path_id = self.path.pos();";
    EXECUTION schedule: add "|| yielded && th.is_runnable() && Some(th.yield_count) > least"
        after "} else if th.is_yield()";
};

/// A changed loom.
pub struct Loom {
    /// The directory of its package.
    pub package: PathBuf,
    target: PathBuf,
}

impl Loom {
    /// Makes the loom with all changes.
    pub fn mended() -> Result<Self> {
        Self::with("loom-mended", &[ADDITIONS, MENDS])
    }

    /// Makes the published loom, only with the additions.
    pub fn published() -> Result<Self> {
        Self::with("loom-published", &[ADDITIONS])
    }

    /// Makes a loom with these changes, in a directory with this name beside the build output of this workspace.
    fn with(name: &str, changes: &[&[Change]]) -> Result<Self> {
        let metadata = cargo().args(["metadata", "--format-version", "1"]).output()?;
        if !metadata.status.success() {
            return Err(String::from_utf8_lossy(&metadata.stderr).into());
        }
        let metadata: Value = serde_json::from_slice(&metadata.stdout)?;
        let path = |value: &Value| value.as_str().map(PathBuf::from).ok_or("no path");
        let target = path(&metadata["target_directory"])?;
        let packages = metadata["packages"].as_array().ok_or("no packages")?;
        let looms: Vec<_> = packages.iter().filter(|package| package["name"] == "loom").collect();
        let [loom] = &*looms else {
            return Err(format!("{} packages have the name loom", looms.len()).into());
        };
        let manifest = path(&loom["manifest_path"])?;
        let original = manifest.parent().ok_or("a manifest in no directory")?;
        let package = target.join(name);
        copy(original, &package, &|file, text| {
            let mut changes =
                changes.iter().copied().flatten().filter(|it| file.ends_with(it.file));
            if file.ends_with("src/lib.rs") {
                // As cargo does for crates from a registry.
                Ok(format!("#![allow(warnings)]\n{text}"))
            } else {
                changed(text, &mut changes)
                    .map_err(|error| format!("loom: {}: {error}", file.display()).into())
            }
        })?;
        Ok(Self { package, target: target.join("loom") })
    }

    /// Returns a cargo command that compiles with this loom. The lock file is the same as without it.
    #[must_use]
    pub fn cargo(&self) -> Command {
        let mut cargo = cargo();
        let others = env::var("RUSTFLAGS").unwrap_or_default();
        cargo.env("RUSTFLAGS", format!("{others} {RUSTFLAGS}"));
        cargo.env("CARGO_TARGET_DIR", &self.target);
        cargo.arg("--config").arg(format!("paths=['{}']", self.package.display()));
        cargo
    }
}

/// Returns a cargo command in the directory of this workspace.
fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    cargo
}

fn changed(text: String, changes: &mut dyn Iterator<Item = &Change>) -> Result<String> {
    let source = Source::parse(text)?;
    let edits = changes
        .map(|Change { item, text, new, .. }| Ok((source.find(item, text)?, format!(" {new} "))));
    let edits: Vec<_> = edits.collect::<Result<_>>()?;
    Ok(source.with_edits(&edits))
}

/// Copies a directory, without build output and hidden files, and changes the text of each source. A file that exists
/// and would not differ is left alone, since cargo compiles again whatever is newer.
pub fn copy(
    from: &Path,
    to: &Path,
    change: &dyn Fn(&Path, String) -> Result<String>,
) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name.to_string_lossy().starts_with('.') {
            continue;
        }
        let (from, to) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            copy(&from, &to, change)?;
            continue;
        }
        let mut content = fs::read(&from)?;
        if from.extension().is_some_and(|extension| extension == "rs") {
            content = change(&from, String::from_utf8(content)?)?.into_bytes();
        }
        if fs::read(&to).ok().as_ref() != Some(&content) {
            fs::write(to, content)?;
        }
    }
    Ok(())
}
