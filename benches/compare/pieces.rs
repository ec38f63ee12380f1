//! Pieces of a run in which every thread had its processor.
//!
//! On a machine that others use, too, the time of a whole run tells how often its threads were interrupted. So a thread
//! cuts its work into [pieces](Piece) of some 10 ms, and notes for each piece how long it had a processor. [`count`]
//! uses the pieces in which no thread was kept from its work.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

/// The minimum number of pieces of each thread for a ratio.
pub const FEWEST: usize = 10;
/// The required share: of the time of a piece in which its thread was not asleep, and of the piece in all other
/// threads.
const SHARE: f64 = 0.98;
const LENGTH: u64 = 10_000_000;

/// What a thread did between two looks at its clocks, in nanoseconds from the start of the run on.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub from: u64,
    pub to: u64,
    /// The time during which the thread had a processor.
    pub processor: u64,
    /// The time during which the thread slept because it waited for a lock.
    pub asleep: u64,
    pub operations: u64,
}

impl Piece {
    fn nanos(&self) -> f64 {
        (self.to - self.from) as f64
    }

    fn had_processor(&self) -> bool {
        self.to > self.from && self.processor as f64 >= SHARE * (self.nanos() - self.asleep as f64)
    }

    fn overlap(&self, other: &Self) -> u64 {
        self.to.min(other.to).saturating_sub(self.from.max(other.from))
    }

    /// Returns whether a thread with these pieces had its processor during this piece.
    fn beside(&self, pieces: &[Self]) -> bool {
        let good = pieces.iter().filter(|piece| piece.had_processor());
        let overlap: u64 = good.map(|piece| self.overlap(piece)).sum();
        overlap as f64 >= SHARE * self.nanos()
    }
}

/// The counted pieces of one thread, or of several together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Million operations per second; NaN if there are no pieces.
    pub rate: f64,
    /// The number of pieces; of several threads, the smallest number.
    pub pieces: usize,
}

/// Returns, for each thread, the pieces in which it had its processor while all others had theirs.
pub fn count(threads: &[Vec<Piece>]) -> Vec<Counted> {
    let one = |(number, pieces): (usize, &Vec<Piece>)| {
        let others = || threads.iter().enumerate().filter(|other| other.0 != number);
        let counts = |piece: &&Piece| {
            piece.had_processor() && others().all(|(_, other)| piece.beside(other))
        };
        let counted: Vec<_> = pieces.iter().filter(counts).collect();
        let operations: u64 = counted.iter().map(|piece| piece.operations).sum();
        let nanos: f64 = counted.iter().map(|piece| piece.nanos()).sum();
        Counted { rate: operations as f64 / nanos * 1e3, pieces: counted.len() }
    };
    threads.iter().enumerate().map(one).collect()
}

impl Counted {
    /// Returns the throughput of all threads together.
    pub fn together(threads: &[Self]) -> Self {
        let pieces = threads.iter().map(|thread| thread.pieces).min().unwrap_or(0);
        Self { rate: threads.iter().map(|thread| thread.rate).sum(), pieces }
    }
}

/// The kernel's information about the turns of this thread on a processor, which Linux has in a file.
pub struct Turns(Option<File>);

impl Turns {
    /// Makes one for the calling thread.
    pub fn of_this_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Returns the nanoseconds for which the thread waited for a processor while it could run, and the number of times
    /// that it got one. Returns zeros if the system does not tell.
    pub fn read(&mut self) -> (u64, u64) {
        let mut fields = || {
            let file = self.0.as_mut()?;
            file.rewind().ok()?;
            let mut text = String::new();
            file.read_to_string(&mut text).ok()?;
            let mut fields = text.split_whitespace().skip(1).map(|field| field.parse().ok());
            Some((fields.next()??, fields.next()??))
        };
        fields().unwrap_or_default()
    }
}

/// Cuts the work of its thread into pieces.
pub struct Meter {
    origin: Instant,
    turns: Turns,
    /// The time at which the piece began, and the processor time and the turns up to then.
    start: (u64, Duration, (u64, u64)),
    operations: u64,
    pieces: Vec<Piece>,
}

impl Meter {
    /// Makes one for the calling thread; `origin` is the same for all threads of a run.
    pub fn new(origin: Instant) -> Self {
        let turns = Turns::of_this_thread();
        let start = (0, Duration::ZERO, (0, 0));
        let mut meter = Self { origin, turns, start, operations: 0, pieces: Vec::new() };
        meter.start = meter.clocks();
        meter
    }

    fn clocks(&mut self) -> (u64, Duration, (u64, u64)) {
        let turns = self.turns.read();
        let processor = ThreadTime::now().as_duration();
        (self.origin.elapsed().as_nanos() as u64, processor, turns)
    }

    /// Called after every few operations.
    #[inline]
    pub fn add(&mut self, operations: usize) {
        self.operations += operations as u64;
        if self.origin.elapsed().as_nanos() as u64 >= self.start.0 + LENGTH {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let (from, before, (waited_before, turns_before)) = self.start;
        self.start = self.clocks();
        let (to, after, (waited, turns)) = self.start;
        let processor = after.saturating_sub(before).as_nanos() as u64;
        // If the host of a virtual machine takes a processor away, that is not a turn.
        let slept = (to - from).saturating_sub(processor + waited - waited_before);
        let asleep = if turns > turns_before { slept } else { 0 };
        let operations = std::mem::take(&mut self.operations);
        self.pieces.push(Piece { from, to, processor, asleep, operations });
    }

    /// Returns all pieces; the last one may be short.
    pub fn finish(mut self) -> Vec<Piece> {
        self.cut();
        self.pieces
    }
}

/// Gives each input to a thread of its own, starts all of them together, and returns their pieces.
pub fn run<I: Send>(inputs: Vec<I>, work: impl Fn(I, &mut Meter) + Sync) -> Vec<Vec<Piece>> {
    let (origin, barrier) = (Instant::now(), Barrier::new(inputs.len()));
    let metered = |input| {
        barrier.wait();
        let mut meter = Meter::new(origin);
        work(input, &mut meter);
        meter.finish()
    };
    thread::scope(|scope| {
        let metered = &metered;
        let spawn = |input| scope.spawn(move || metered(input));
        let threads: Vec<_> = inputs.into_iter().map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Makes a piece from one millisecond to another, with a processor for some of it, and a thousand operations.
    fn piece(from: u64, to: u64, processor: u64) -> Piece {
        let [from, to, processor] = [from, to, processor].map(|millis| millis * MS);
        Piece { from, to, processor, asleep: 0, operations: 1000 }
    }

    fn pieces(threads: &[Vec<Piece>]) -> Vec<usize> {
        count(threads).iter().map(|counted| counted.pieces).collect()
    }

    #[test]
    fn a_piece_needs_its_processor_unless_its_thread_sleeps_for_a_lock() {
        let alone = |piece: Piece| pieces(&[vec![piece]])[0];
        assert_eq!([100, 98, 97].map(|processor| alone(piece(0, 100, processor))), [1, 1, 0]);
        assert_eq!(alone(piece(5, 5, 0)), 0, "no time, no piece");
        let asleep = |processor| Piece { asleep: 40 * MS, ..piece(0, 100, processor) };
        assert_eq!([60, 58].map(|processor| alone(asleep(processor))), [1, 0]);
    }

    #[test]
    fn pieces_count_where_all_others_have_their_processors() {
        let run = |at: [u64; 3]| at.map(|at| piece(at, at + 10, 10)).to_vec();
        // The second thread starts within the first piece and goes on after the last one.
        assert_eq!(pieces(&[run([0, 10, 20]), run([5, 15, 25])]), [2, 2]);
        // Its middle piece, from 15 to 25, is bad, and so are the two that it overlaps.
        let mut second = run([5, 15, 25]);
        second[1].processor = 5 * MS;
        assert_eq!(pieces(&[run([0, 10, 20]), second]), [0, 1]);
        // A piece that is nearly covered counts.
        let (long, short) = (vec![piece(0, 100, 100)], vec![piece(1, 99, 98)]);
        assert_eq!(pieces(&[long, short]), [1, 1]);
        // A thread that has not begun, or has ended, overlaps nothing.
        assert_eq!(pieces(&[run([0, 10, 20]), vec![]]), [0, 0]);
    }

    #[test]
    fn the_throughput_is_that_of_the_pieces_that_count() {
        let bad = piece(20, 30, 1);
        let threads = [vec![piece(0, 10, 10), piece(10, 20, 10), bad], vec![piece(0, 20, 20)]];
        let counted = count(&threads);
        // 1,000 operations in 10 ms are 0.1 million per second, and in 20 ms half of it.
        let all = Counted::together(&counted);
        for (one, rate, pieces) in [(counted[0], 0.1, 2), (counted[1], 0.05, 1), (all, 0.15, 1)] {
            assert!((one.rate - rate).abs() < 1e-9 && one.pieces == pieces, "{counted:?}");
        }
        assert!(count(&[vec![piece(0, 100, 1)]])[0].rate.is_nan());
    }

    #[test]
    fn a_meter_keeps_all_operations_and_its_pieces_follow_one_another() {
        let threads = run(vec![3, 5], |rounds, meter| {
            for _ in 0..rounds {
                let started = Instant::now();
                while started.elapsed().as_nanos() < u128::from(LENGTH) {
                    std::hint::spin_loop();
                }
                meter.add(7);
            }
        });
        for (pieces, rounds) in threads.iter().zip([3, 5]) {
            assert_eq!(pieces.iter().map(|piece| piece.operations).sum::<u64>(), 7 * rounds);
            assert_eq!(pieces.len() as u64, rounds + 1, "one for each round, and what is left");
            assert!(pieces.windows(2).all(|pair| pair[0].to == pair[1].from));
        }
    }
}
