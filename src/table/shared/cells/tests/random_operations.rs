//! Compares the cells with a map, while as many entries come as go.

use core::cmp::Reverse;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// The kind and number of entries of a test case.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// The number of bits of a position in a table of fixed size. With 20 bits one word counts up to 2^23 - 1 copies,
    /// with 41 bits three. `None`: a growing table, whose entries differ in length, so that an item may match several;
    /// one word counts up to 7 copies of the longest.
    fixed: Option<u32>,
    keys: usize,
    /// The number of entries most of the time.
    fill: usize,
    /// The origin of the positions of the keys.
    origin: u64,
}

/// A key, and a value.
type Item = (u8, u8);

#[derive(Clone, Copy, Debug)]
enum Op {
    /// Adds this number of items: the item and those with the next values. All of them have the same way. If there are
    /// enough entries, first takes out one copy of another entry for each item.
    Turn(Item, u8),
    /// Adds copies of an item.
    Add(Item, usize),
    /// Takes out copies of an item, at most all of them.
    Take(Item, usize),
    /// Takes out all entries whose values have the same remainder modulo 4 as this one, while some entries with the
    /// next values are added.
    Sweep(Item),
    Clear,
    /// Replaces the cells by others that are filled at once with the same entries.
    Refill,
}

fn shapes() -> impl Strategy<Value = Shape> {
    // As many entries as 64 or 128 cells may hold, or any number.
    let fill = prop_oneof![4 => Just(56), 1 => Just(112), 1 => 8..200_usize];
    let fixed = prop_oneof![Just(None), Just(Some(20)), Just(Some(41))];
    (fixed, 1..100_usize, fill, 0..u64::MAX / 2).prop_map(|(fixed, keys, fill, origin)| Shape {
        fixed,
        keys,
        fill,
        origin,
    })
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let item = any::<Item>;
    let op = prop_oneof![
        100 => (item(), 1..50_u8).prop_map(|(item, count)| Op::Turn(item, count)),
        10 => (item(), 1..4_usize).prop_map(|(item, copies)| Op::Add(item, copies)),
        10 => (item(), 1..4_usize).prop_map(|(item, copies)| Op::Take(item, copies)),
        3 => item().prop_map(Op::Sweep),
        1 => prop_oneof![Just(Op::Clear), Just(Op::Refill)],
    ];
    prop::collection::vec(op, 1..200)
}

/// The parts of a match: bits, number of known bits, copies.
type Parts = (u32, u32, usize);

fn parts(found: Match) -> Parts {
    (found.entry.bits(), found.entry.known, found.copies)
}

/// Returns the key by which matches are sorted, the longest first.
fn order(&(bits, known, _): &Parts) -> (Reverse<u32>, u32) {
    (Reverse(known), bits)
}

/// Returns the place of an entry at this position, as far as the entry knows it.
fn known_of(position: u64, entry: Entry) -> Place {
    Place { position: prefix(position, entry.known()), entry }
}

pub(super) fn name_of(place: Place) -> CellWords {
    Stashed { place, copies: 0 }.words()
}

/// Returns the group of a place, from bits of the position that all entries know.
fn group_of(place: Place) -> usize {
    place.position as usize / 2 % GROUPS
}

/// The cells, and their expected contents: the number of copies of each entry. An entry is named by its words without
/// copies.
struct Modelled {
    shape: Shape,
    cells: Cells,
    copies: BTreeMap<CellWords, usize>,
    of_groups: [usize; GROUPS],
}

impl Modelled {
    fn new(shape: Shape) -> Self {
        Self { shape, cells: Self::empty(shape), copies: BTreeMap::new(), of_groups: [0; GROUPS] }
    }

    fn empty(shape: Shape) -> Cells {
        let packing = shape.fixed.map_or_else(growing, |bits| Packing::fixed(20, 1 << bits));
        Cells::try_new(GROUPS, KEY, packing).expect("memory")
    }

    fn place(&self, (key, value): Item) -> Place {
        let key = usize::from(key) % self.shape.keys;
        let lengths =
            if self.shape.fixed.is_some() { &[0][..] } else { &[6, 7, MOST_KNOWN - 1, MOST_KNOWN] };
        let entry = Entry::knowing(1 << 4 | u64::from(value) << 12, lengths[key % lengths.len()]);
        let position = 2 * ((key / lengths.len()) as u64 ^ self.shape.origin);
        known_of(prefix(position, self.shape.fixed.unwrap_or(u64::BITS)), entry)
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Turn((key, first), count) => {
                for step in 0..count {
                    if self.copies.len() >= self.shape.fill {
                        let any = usize::from(first) * 31 + usize::from(step) * 17;
                        let words = self.copies.keys().nth(any % self.copies.len());
                        self.take(Stashed::of_words(*words.expect("one of them")).place, 1);
                    }
                    self.add(self.place((key, first.wrapping_add(step))), 1);
                }
            }
            Op::Add(item, copies) => self.add(self.place(item), copies),
            Op::Take(item, copies) => {
                self.take(self.place(item), copies);
                self.agrees_on(self.place(item));
            }
            Op::Sweep(item) => self.sweep(item),
            Op::Clear => {
                let mut writer = self.cells.lock();
                let changes = writer.changes();
                writer.clear();
                assert!(writer.changes() > changes && writer.array().lines == 0);
                drop(writer);
                self.copies.clear();
                self.of_groups = [0; GROUPS];
            }
            Op::Refill => self.refill(),
        }
        self.check();
    }

    fn add(&mut self, place: Place, copies: usize) {
        let of_group = &mut self.of_groups[group_of(place)];
        let held = self.copies.entry(name_of(place)).or_default();
        let mut writer = self.cells.lock();
        let changes = writer.changes();
        writer.reserve(1).expect("memory");
        assert!(writer.has_room(1));
        let added = writer.add(group_of(place), Stashed { place, copies });
        assert_eq!(added, Ok(*held == 0));
        assert!(writer.changes() > changes);
        *of_group += usize::from(*held == 0);
        assert_eq!(writer.beside(group_of(place), GROUPS) as usize, *of_group);
        let beside = |versions| (group_of(place) % versions..GROUPS).step_by(versions);
        for versions in [1, GROUPS / 2] {
            let all: usize = beside(versions).map(|group| self.of_groups[group]).sum();
            assert_eq!(writer.beside(group_of(place), versions) as usize, all);
        }
        *held += copies;
    }

    /// Takes out copies of the longest entry of an item, if there is one.
    fn take(&mut self, item: Place, copies: usize) {
        let mut writer = self.cells.lock();
        let found = writer.longest(StashQuery { item, mask: u32::MAX });
        let longest = self.entries_of(item, u32::MAX).first().copied();
        assert_eq!(found.map(parts), longest, "{item:?}");
        let (Some(found), Some((_, known, held))) = (found, longest) else {
            return;
        };
        let copies = copies.min(held);
        let place = known_of(item.position, Entry::knowing(item.entry.bits().into(), known));
        let of_group = &mut self.of_groups[group_of(place)];
        let changes = writer.changes();
        writer.take(group_of(place), found, copies);
        if found.copies == copies {
            writer.forget_way(found);
        }
        assert!(writer.changes() > changes);
        if copies < held {
            self.copies.insert(name_of(place), held - copies);
        } else {
            self.copies.remove(&name_of(place));
            *of_group -= 1;
        }
    }

    fn sweep(&mut self, (key, value): Item) {
        let goes = |bits: u32| (bits >> 12) % 4 == u32::from(value) % 4;
        let mut seen = Progress::default();
        let next = |cells: &Cells, seen: &mut Progress| cells.lock().next(seen, goes);
        while let Some((at, Stashed { place, .. })) = next(&self.cells, &mut seen) {
            if at % 5 == 0 {
                // As if another thread was faster: the entry is gone, and its cell may hold another one by now.
                self.take(place, usize::MAX);
                for step in 0..4 {
                    self.add(self.place((key, value.wrapping_add(4 * step + 1))), 1);
                }
                assert!(self.cells.lock().held_at(at, place).is_none());
                continue;
            }
            let mut writer = self.cells.lock();
            let found = writer.held_at(at, place).expect("nobody else takes it");
            assert_eq!(self.copies.remove(&name_of(place)), Some(found.copies));
            writer.take(group_of(place), found, found.copies);
            assert!(writer.held_at(at, place).is_none());
            drop(writer);
            self.of_groups[group_of(place)] -= 1;
            if at % 3 == 0 {
                self.add(self.place((key, value.wrapping_add(1 + (at % 3) as u8))), 1);
            }
        }
        self.cells.lock().forget_ways();
        assert!(!self.copies.keys().any(|words| goes(words[0] as u32)));
    }

    /// Refills the cells. Checks that choices depend on the entries alone.
    fn refill(&mut self) {
        let choices = |cells: &Cells| {
            let writer = cells.lock();
            [1, 2, 3].map(|n| writer.choose::<2>(geometry::mix(n), |_| true))
        };
        let before = choices(&self.cells);
        let entries = self.copies.iter().map(|(&words, &copies)| {
            let place = Stashed::of_words(words).place;
            (group_of(place), Stashed { place, copies }.words())
        });
        let mut entries: Vec<_> = entries.collect();
        self.cells = Self::empty(self.shape);
        self.cells.lock().fill(&mut entries).expect("memory");
        assert_eq!(choices(&self.cells), before);
        let is_held = |place: &Place| self.copies.contains_key(&name_of(*place));
        assert!(before.iter().flatten().flatten().all(is_held));
    }

    /// Returns the expected entries that match an item in the bits of `mask`, the longest first.
    fn entries_of(&self, item: Place, mask: u32) -> Vec<Parts> {
        let mut entries = Vec::new();
        for (&words, &copies) in &self.copies {
            let Place { position, entry } = Stashed::of_words(words).place;
            if (entry.bits() ^ item.entry.bits()) & mask == 0
                && entry.known() <= item.entry.known()
                && prefix(item.position, entry.known()) == position
            {
                entries.push((entry.bits(), entry.known(), copies));
            }
        }
        entries.sort_unstable_by_key(order);
        entries
    }

    /// Checks that readers and the writer find the entries of an item, and no others.
    fn agrees_on(&self, item: Place) {
        let writer = self.cells.lock();
        for mask in [KEY, u32::MAX] {
            let (query, expected) = (StashQuery { item, mask }, self.entries_of(item, mask));
            let [mut read, mut seen] = [const { Vec::new() }; 2];
            assert!(self.cells.read(query, |found| read.push(parts(found))));
            writer.each(query, |found| seen.push(parts(found)));
            assert_eq!(read, seen);
            assert!(read.is_sorted_by_key(|&(_, known, _)| Reverse(known)));
            read.sort_unstable_by_key(order);
            assert_eq!(read, expected);
            if mask == KEY {
                assert_eq!(self.cells.lacks(key_of(item)), expected.is_empty());
            }
        }
        let copies = self.copies.get(&name_of(item)).copied();
        assert_eq!(writer.copies_of(item), copies.unwrap_or(0));
    }

    /// Checks that all entries are found, with their copies, and that there are no others.
    fn check(&self) {
        let writer = self.cells.lock();
        for (&words, &copies) in &self.copies {
            let item = Stashed::of_words(words).place;
            let query = StashQuery { item, mask: u32::MAX };
            let mut found = None;
            assert!(self.cells.read(query, |each| _ = found.get_or_insert(each.copies)));
            assert_eq!(found, Some(copies), "{item:?} is lost");
            assert_eq!(writer.copies_of(item), copies, "{item:?}");
            assert!(!self.cells.lacks(key_of(item)), "{item:?}");
        }
        let held = writer.entries().map(|held| (name_of(held.place), held.copies));
        assert_eq!(held.collect::<BTreeMap<_, _>>(), self.copies);
        let entries = self.copies.len();
        assert_eq!([writer.entries().count(), writer.len(), self.cells.entries()], [entries; 3]);
        assert_eq!(self.cells.copies(), self.copies.values().sum::<usize>() as u64);
        // The head of each line names exactly the ways that pass it.
        let array = writer.array();
        assert!(array.lines <= FEWEST_LINES || 4 * entries >= array.len());
        let mut passing = vec![0; array.lines];
        for at in (0..array.len()).filter(|&at| array.held(at).is_some()) {
            let hash = self.cells.hash_of(array.last(at));
            let lines = way(hash as usize, array.lines).take_while(|&line| line != at / LINE);
            lines.for_each(|line| passing[line] |= super::passing(hash));
        }
        assert!((0..array.lines).all(|line| array.head(line) & !MARKS == passing[line]));
        assert!(has_exact_marks(&writer));
    }
}

#[test]
fn random_operations() {
    let long = std::env::var_os("COUCAL_LONG").is_some();
    let cases = if long { 10_000 } else { 150 };
    let config = ProptestConfig { cases, max_shrink_iters: 1000, ..crate::random::cases() };
    crate::random::run_cases(config, &(shapes(), ops()), &|(shape, ops)| {
        let mut modelled = Modelled::new(shape);
        for op in ops {
            modelled.apply(op);
        }
    });
}
