//! Sequences of operations on two filters or two maplets of any layout and kind.

use arbitrary::{Arbitrary, Unstructured};
use coucal_reference::{Kind, LAYOUTS, Layout, Modelled, Op};

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
    /// If they grow: by how many hundredths of the first capacity, as far as the model follows.
    factor: u8,
}

impl Setup {
    /// Builds filters or maplets of this shape.
    fn builder(&self) -> impl Fn() -> Modelled {
        let Self { layout, kind, capacity, factor } = *self;
        let (grows, is_maplet) = (kind & 1 > 0, kind & 2 > 0);
        let all: Vec<Layout> =
            LAYOUTS.into_iter().filter(|layout| layout.grows() || !grows).collect();
        let layout = all[usize::from(layout) % all.len()];
        let value_bits =
            if is_maplet { 1 + u32::from(kind >> 2) % layout.longest_values() } else { 0 };
        let kind = Kind { layout, grows, value_bits };
        let first = usize::from(capacity);
        let most = first + first * usize::from(factor) / 100;
        let most = if grows { kind.greatest_exact(first, most) } else { first };
        move || Modelled::new(kind.build(first, most))
    }

    /// The bytes of a filter or maplet of this shape with what is stored for these keys, or with as much
    /// of it as there is room for.
    pub fn snapshot(&self, keys: impl Iterator<Item = u16>) -> Vec<u8> {
        self.builder()().filled(keys)
    }
}

/// Whatever the bytes say is done to two filters or maplets; neither may ever differ from an exact
/// multiset.
///
/// # Panics
///
/// If one does.
pub fn operations(data: &[u8]) {
    let mut data = Unstructured::new(data);
    if let Ok(setup) = Setup::arbitrary(&mut data) {
        let new = setup.builder();
        apply_all(new(), new(), &mut data);
    }
}

/// Does what the bytes say to two subjects, and checks both.
pub fn apply_all(mut this: Modelled, mut other: Modelled, data: &mut Unstructured<'_>) {
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
