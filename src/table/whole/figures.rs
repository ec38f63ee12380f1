//! Figures of a table.

use crossbeam_utils::CachePadded;

use crate::layout::{Encoding, LayoutId};
use crate::sizing::{self, Sizing, share};
use crate::sync::Ordering;
use crate::table::buckets::growing::GrowingBuckets;
use crate::table::placing::Sizes;
use crate::table::placing::entry::Values;
use crate::table::placing::rates::{false_positive_rate, power_of_half, sum_over_slots};
use crate::table::shared::doubled::{Counts, Doubled};
use crate::table::shared::{Shared, Sweeping};
use crate::table::{Buckets, State, Table};

impl<B: Buckets> State<B> {
    /// Returns the number of buckets.
    pub(in crate::table) fn present(&self) -> usize {
        self.buckets.count(self.buckets.placement())
    }

    /// Returns the number of slots in use.
    pub(crate) fn occupied(&self) -> usize {
        self.stripes().occupied()
    }

    /// Returns the number of all slots.
    pub(crate) fn slots(&self) -> usize {
        self.present() * self.layout.properties().slots
    }

    /// Returns the numbers of all entries and of all copies, in slots and in the stash. Exact while all stripes are
    /// held.
    pub(in crate::table) fn counts(&self) -> Counts {
        let mut counts = Counts::of_slots(self.occupied() as u64);
        counts += Counts { copies: self.stashed_copies(), entries: self.stashed_entries() as u64 };
        counts
    }

    /// Returns the numbers of doubled entries and of doubled copies, which are not items of their own.
    pub(crate) fn doubled(&self) -> Counts {
        self.shared.doubled.all()
    }

    /// Returns the number of items: all copies except doubled ones. Exact when no thread writes.
    pub(crate) fn len(&self) -> usize {
        // A few entries can have more copies than a `usize` can count.
        sizing::in_address_space(self.counts().beyond(self.doubled()).copies)
    }

    /// Returns the number of entries except doubled ones, in slots or in the stash, each of them once.
    pub(crate) fn entries(&self) -> usize {
        self.counts().beyond(self.doubled()).entries as usize
    }

    /// Returns the present sizes.
    pub(crate) fn sizes(&self) -> Sizes {
        Sizes { buckets: self.present(), ..self.buckets.begun() }
    }

    /// Returns the maximum number of buckets.
    pub(crate) fn max_buckets(&self) -> u64 {
        self.buckets.max_buckets()
    }

    pub(crate) fn layout(&self) -> LayoutId {
        self.layout
    }

    /// Returns the number of bits of the value in each slot; 0 in a filter.
    pub(crate) fn value_bits(&self) -> u32 {
        self.buckets.values().bits()
    }

    /// Returns the number of items that the present size of a growing table is for; 0 for a table of fixed size.
    pub(crate) fn target_items(&self) -> usize {
        (self.slots() as f64 * share(self.buckets.begun().target_load)) as usize
    }

    /// Returns the number of lookups that gave up on a certain answer.
    pub(crate) fn inconclusive(&self) -> u64 {
        // Relaxed: a number that orders nothing.
        self.shared.inconclusive.load(Ordering::Relaxed)
    }

    /// Sets the false-positive rate that no merge may exceed; `None` allows any rate.
    pub(crate) fn with_promised_rate(self, rate: Option<f64>) -> Self {
        Self { promised_rate: rate.unwrap_or(f64::INFINITY), ..self }
    }

    /// Sets what the words of an image of `other` do not contain: the promised rate, and the weight that merges had
    /// added at the instant of the image.
    pub(crate) fn with_rate_of(self, other: &Self, merged_weight: f64) -> Self {
        self.add_merged_weight(merged_weight);
        Self { promised_rate: other.promised_rate, ..self }
    }

    /// Returns the weight that merges have added, as [`GrowingBuckets::merged_weight`] does; 0 in a table of fixed
    /// size.
    pub(in crate::table) fn merged_weight(&self) -> f64 {
        self.buckets.growing().map_or(0.0, GrowingBuckets::merged_weight)
    }

    /// Adds to the merged weight. The caller holds the removal mutex, as for
    /// [`clear_merged_weight`](Self::clear_merged_weight).
    pub(in crate::table) fn add_merged_weight(&self, more: f64) {
        if let Some(growing) = self.buckets.growing() {
            growing.set_merged_weight(growing.merged_weight() + more);
        }
    }

    pub(in crate::table) fn clear_merged_weight(&self) {
        if let Some(growing) = self.buckets.growing() {
            growing.set_merged_weight(0.0);
        }
    }

    /// Returns the sizes with which the table was built.
    pub(in crate::table) fn sizing(&self) -> Sizing {
        let Sizes { initial, target_load, .. } = self.sizes();
        Sizing {
            layout: self.layout(),
            initial: initial as u64,
            buckets: self.max_buckets(),
            target_load,
            value_bits: self.value_bits(),
            max_capacity: 0,
        }
    }

    /// Returns the share of absent items that a growing table reports as present when it has grown to hold `items`
    /// items, with the weight that merges have added.
    pub(crate) fn false_positive_rate_at(&self, items: u64) -> f64 {
        self.sizing().false_positive_rate_with(items, self.merged_weight())
    }

    /// Returns the bytes that the table uses on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.buckets.heap_bytes()
            + size_of_val(&*self.shared)
            + self.shared.doubled.heap_bytes()
            + Sweeping::bytes_for(B::Values::ANY)
            + self.stash_bytes()
    }

    /// Returns the most bytes that a table of `buckets` buckets uses on the heap, without a stash.
    pub(crate) fn bytes_for(Sizing { initial, buckets: most, .. }: Sizing, buckets: u64) -> u64 {
        let of_shared = size_of::<CachePadded<Shared>>() as u64;
        let of_boxes = Doubled::bytes_for(B::GROWS) + Sweeping::bytes_for(B::Values::ANY);
        let beside = of_shared + of_boxes as u64;
        B::bytes_for(initial, buckets, most).saturating_add(beside)
    }
}

impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Returns the share of absent items that the table reports as present.
    pub(crate) fn false_positive_rate(self) -> f64 {
        let entries = self.occupied() + self.stashed_entries();
        let (placement, buckets) = (self.buckets.placement(), self.present());
        let word = |bucket| self.word_now(bucket);
        false_positive_rate::<F, _>(placement, buckets, self.value_bits(), entries, word)
    }

    pub(in crate::table) fn word_now(self, bucket: usize) -> F {
        // Relaxed: for an estimate.
        F::from_bits(self.buckets.word(bucket).load(Ordering::Relaxed))
    }

    /// Estimates the number of slots that will hold doubled entries at the maximum size: those of the present entries
    /// and of other entries. `others` gives, for each other entry, the number of bits of its position that it knows;
    /// `doubled` of the other entries are doubled already. Returns 0 if no other entry is doubled, or will be.
    pub(in crate::table) fn doubled_at_maximum(
        self,
        others: impl Iterator<Item = u32>,
        doubled: u64,
    ) -> f64 {
        let most = self.max_buckets() as f64;
        let adds = |known| (most * power_of_half(known) - 1.0).max(0.0);
        let of_others = others.map(adds).sum::<f64>() + doubled as f64;
        if of_others == 0.0 {
            return 0.0;
        }
        let (placement, buckets) = (self.buckets.placement(), self.present());
        let word = |bucket| self.word_now(bucket);
        let of_present = sum_over_slots::<F, _>(placement, buckets, word, adds);
        of_others + of_present + self.doubled().entries as f64
    }
}
