//! Sequences of operations on two filters or two maplets of any layout and kind.

use arbitrary::{Arbitrary, Unstructured};
use coucal::{
    BuildError, CuckooFilter, CuckooMaplet, FixedStorage, GrowingLayout, MapletBuilder,
    ReserveError, StableHashBuilder, Storage,
};

use crate::for_each_layout;
use crate::model::{Modelled, Op};
use crate::subject::{Grows, HASHER, Subject};

/// What is done after the filters are built.
const MOST_OPS: usize = 300;

/// Two filters, or two maplets, of one shape.
#[derive(Arbitrary, Debug)]
pub struct Setup {
    layout: u8,
    /// Bit 0: whether they grow. Bit 1: whether they are maplets. The others: the value bits of these.
    kind: u8,
    /// At first.
    capacity: u8,
    /// If they grow: by how many hundredths of the first capacity.
    factor: u8,
}

/// What is done to filters or maplets, which `new` builds.
trait Job {
    type Done;
    fn run<S: Subject>(self, new: impl Fn() -> Modelled<S>) -> Self::Done;
}

type Run<J> = fn(&Setup, J) -> <J as Job>::Done;

type Maplets<L> = MapletBuilder<L, StableHashBuilder>;

impl Setup {
    fn most(&self) -> usize {
        let first = usize::from(self.capacity);
        first + first * usize::from(self.factor) / 100
    }

    /// Values as long as the layout has room for, at the most: the error for 0 bits says how long.
    fn with_values<L: Storage>(&self, builder: Maplets<L>) -> Maplets<L> {
        let Err(BuildError::ValueBitsOutOfRange { max, .. }) = builder.clone().build() else {
            panic!("a maplet without values");
        };
        builder.value_bits(1 + u32::from(self.kind >> 2) % max)
    }

    fn fixed<L: FixedStorage, J: Job>(&self, job: J) -> J::Done {
        let builder = CuckooFilter::builder().layout::<L>().hasher(HASHER);
        let builder = builder.capacity(self.capacity.into());
        job.run(|| Modelled::new(builder.clone().build().expect("memory"), |_, _| {}))
    }

    fn growing<L: GrowingLayout, J: Job>(&self, job: J) -> J::Done {
        let builder = CuckooFilter::builder().layout::<L>().hasher(HASHER);
        let builder = builder.capacity(self.capacity.into()).max_capacity(self.most());
        job.run(|| Modelled::new(builder.clone().build().expect("memory"), reserve))
    }

    fn fixed_maplet<L: FixedStorage, J: Job>(&self, job: J) -> J::Done {
        let builder = CuckooMaplet::builder().layout::<L>().hasher(HASHER);
        let builder = builder.capacity(self.capacity.into());
        let builder = self.with_values(builder);
        job.run(|| Modelled::new(builder.clone().build().expect("memory"), |_, _| {}))
    }

    fn growing_maplet<L: GrowingLayout, J: Job>(&self, job: J) -> J::Done {
        let builder = CuckooMaplet::builder().layout::<L>().hasher(HASHER);
        let builder = builder.capacity(self.capacity.into()).max_capacity(self.most());
        let builder = self.with_values(builder);
        job.run(|| Modelled::new(builder.clone().build().expect("memory"), reserve))
    }

    /// With the type that this shape names.
    fn with<J: Job>(&self, job: J) -> J::Done {
        macro_rules! fixed {
            ($($layout:ident)*) => {
                &[$([Self::fixed::<coucal::$layout, J>, Self::fixed_maplet::<coucal::$layout, J>]),*]
            };
        }
        macro_rules! growing {
            ($($layout:ident)*) => {
                &[$([
                    Self::growing::<coucal::$layout, J>,
                    Self::growing_maplet::<coucal::$layout, J>,
                ]),*]
            };
        }
        let fixed: &[[Run<J>; 2]] = for_each_layout!(fixed);
        let growing: &[[Run<J>; 2]] = coucal::__for_each_growing_layout!(growing);
        let all = if self.kind & 1 == 0 { fixed } else { growing };
        let [filter, maplet] = all[usize::from(self.layout) % all.len()];
        let run = if self.kind & 2 == 0 { filter } else { maplet };
        run(self, job)
    }

    /// The bytes of a filter or maplet of this shape with what is stored for these keys, or with as much
    /// of it as there is room for.
    pub fn snapshot(&self, keys: impl Iterator<Item = u16>) -> Vec<u8> {
        struct Fill<I>(I);
        impl<I: Iterator<Item = u16>> Job for Fill<I> {
            type Done = Vec<u8>;
            fn run<S: Subject>(self, new: impl Fn() -> Modelled<S>) -> Vec<u8> {
                new().filled(self.0)
            }
        }
        self.with(Fill(keys))
    }
}

/// Whatever the bytes say is done to two filters or maplets; neither may ever differ from an exact
/// multiset.
///
/// # Panics
///
/// If one does.
pub fn operations(data: &[u8]) {
    struct ApplyAll<'a>(Unstructured<'a>);
    impl Job for ApplyAll<'_> {
        type Done = ();
        fn run<S: Subject>(mut self, new: impl Fn() -> Modelled<S>) {
            apply_all(new(), new(), &mut self.0);
        }
    }
    let mut data = Unstructured::new(data);
    if let Ok(setup) = Setup::arbitrary(&mut data) {
        setup.with(ApplyAll(data));
    }
}

/// As `Modelled` wants it.
pub fn reserve<S: Grows>(subject: &S, additional: usize) {
    let wanted = subject.len() + additional;
    let max_capacity = subject.max_capacity();
    match subject.try_reserve(additional) {
        Ok(()) => assert!(wanted <= max_capacity && subject.capacity() >= wanted),
        Err(error) => {
            assert_eq!(error, ReserveError::AboveMaxCapacity { wanted, max_capacity });
            assert!(wanted > max_capacity);
        }
    }
}

/// Does what the bytes say to two subjects, and checks both.
pub fn apply_all<S: Subject>(
    mut this: Modelled<S>,
    mut other: Modelled<S>,
    data: &mut Unstructured<'_>,
) {
    for _ in 0..MOST_OPS {
        if data.is_empty() {
            break;
        }
        let Ok(op) = Op::arbitrary(data) else {
            break;
        };
        this.apply(op, &mut other);
    }
    this.check();
    other.check();
}
