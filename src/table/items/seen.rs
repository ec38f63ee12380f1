//! The entries of an item that a removal has seen before it locks, and the check whether they are still there.
//!
//! **Invariant:** as long as a word is the same and the table has not grown, another search of the word would have the
//! result that was seen.

use crate::backports::select_unpredictable;
use crate::layout::{Encoding, Slot};
use crate::table::placing::geometry::Place;
use crate::table::placing::{Bucket, Found, Placing, Read};

/// The word of a bucket, and the longest entry of an item that was seen in it.
#[derive(Clone, Copy)]
pub struct Seen<F, P> {
    pub(in crate::table) bucket: Bucket<P>,
    pub(in crate::table) word: F,
    longest: Option<Found>,
}

impl<F: Encoding, P: Placing> Seen<F, P> {
    /// Looks for the longest entry of the item in each word.
    #[inline(always)]
    pub(crate) fn in_each(read: Read<F, P>) -> [Self; 2] {
        let longest = P::longest(read);
        let Read { buckets, words, .. } = read;
        let look = |at: usize| Self { bucket: buckets[at], word: words[at], longest: longest[at] };
        [look(0), look(1)]
    }

    /// Returns the first or the second of two that one placement has found. No branch: no processor could predict it.
    #[inline]
    pub(in crate::table) fn select(in_first: bool, a: Self, b: Self) -> Self {
        // Number by number: a larger value would be selected in memory.
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
    /// Returns the longest entry of the item in `word`, as [`Placing::longest`] does. Most often the word is still the
    /// same as in `seen`.
    // Always inlined: `seen` would pass through memory.
    #[inline(always)]
    pub(in crate::table) fn longest_again<F: Encoding>(
        self,
        word: F,
        item: Place,
        seen: Seen<F, P>,
    ) -> Option<Found> {
        if !P::GROWS {
            // This takes no longer than a comparison with `seen`.
            let slot = self.slot::<F>(item)?;
            return word.holds(slot).then_some(Found { slot, known: 0 });
        }
        // If the extent is the same, the item has the same bucket.
        let is_same = seen.bucket.is_of(self.placement) && seen.word.bits() == word.bits();
        if is_same { seen.longest } else { self.longest_anew(word, item) }
    }

    /// Returns whether the first of two buckets has the longest entry of an item, with its value; of two entries of the
    /// same length, the first counts. `None`: neither bucket has an entry.
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

    /// Searches the word. Outlined: this path is cold.
    #[cold]
    #[inline(never)]
    fn longest_anew<F: Encoding>(self, word: F, item: Place) -> Option<Found> {
        let [longest, _] = P::longest(self.alone(word, item));
        longest
    }
}
