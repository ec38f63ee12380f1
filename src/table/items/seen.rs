//! What a removal has seen of an item before it locks, and whether it is still there.
//!
//! **Invariant:** what was seen of a word is what a search of it would find again, as long as the word is the same and
//! the table has not grown.

use core::hint::select_unpredictable;

use crate::layout::{Encoding, Slot};
use crate::table::placing::geometry::Place;
use crate::table::placing::{Bucket, Found, Placing, Read};

/// What was seen of an item in a bucket.
#[derive(Clone, Copy)]
pub struct Seen<F, P> {
    pub(in crate::table) bucket: Bucket<P>,
    pub(in crate::table) word: F,
    longest: Option<Found>,
}

impl<F: Encoding, P: Placing> Seen<F, P> {
    /// In each word.
    #[inline(always)]
    pub(crate) fn in_each(read: Read<F, P>) -> [Self; 2] {
        let longest = P::longest(read);
        let Read { buckets, words, .. } = read;
        let look = |at: usize| Self { bucket: buckets[at], word: words[at], longest: longest[at] };
        [look(0), look(1)]
    }

    /// The first of two of one placement, or the second. No branch: no processor could predict it.
    #[inline]
    pub(in crate::table) fn select(in_first: bool, a: Self, b: Self) -> Self {
        // Number by number: what is larger would be selected in memory.
        let number = select_unpredictable(in_first, a.bucket.number, b.bucket.number);
        let word = select_unpredictable(in_first, a.word.bits(), b.word.bits());
        let slot = select_unpredictable(in_first, a.slot(), b.slot());
        let known = select_unpredictable(in_first, a.known(), b.known());
        let longest = known.map(|known| Found { slot: Slot::new(slot), known });
        let bucket = Bucket::at(a.bucket.placement, number);
        Self { bucket, word: F::from_bits(word), longest }
    }

    #[inline]
    fn slot(self) -> u64 {
        self.longest.map_or(0, |longest| longest.slot.bits())
    }

    #[inline]
    pub(in crate::table) fn known(self) -> Option<u32> {
        self.longest.map(|longest| longest.known)
    }
}

impl<P: Placing> Bucket<P> {
    /// As [`Placing::longest`], of a word that was seen before: most often it is still the same.
    // Always inlined: what was seen would pass through memory.
    #[inline(always)]
    pub(in crate::table) fn longest_again<F: Encoding>(
        self,
        word: F,
        item: Place,
        seen: Seen<F, P>,
    ) -> Option<Found> {
        if !P::GROWS {
            // It takes no longer than to compare with what was seen.
            let slot = self.slot::<F>(item)?;
            return word.holds(slot).then_some(Found { slot, known: 0 });
        }
        // Of one extent, the item has the same bucket.
        let is_same = seen.bucket.is_of(self.placement) && seen.word.bits() == word.bits();
        if is_same { seen.longest } else { self.longest_anew(word, item) }
    }

    /// Whether it is the first of two buckets that has the entry of an item, with its value, of which the most is
    /// known, or one of them. `None`: neither has one.
    #[inline]
    pub(in crate::table) fn holder_of_longest<F: Encoding>(
        [first, second]: [Seen<F, P>; 2],
        [item, _]: [Place; 2],
    ) -> Option<bool> {
        if !P::GROWS {
            let slot = first.bucket.slot::<F>(item)?;
            let either = F::either_holds([first.word, second.word], slot, None);
            return either.then(|| first.word.holds(slot));
        }
        let [first, second] = [first.known(), second.known()];
        first.max(second).map(|_| first >= second)
    }

    /// Apart, as the other functions that run rarely.
    #[cold]
    #[inline(never)]
    fn longest_anew<F: Encoding>(self, word: F, item: Place) -> Option<Found> {
        let [longest, _] = P::longest(self.alone(word, item));
        longest
    }
}
