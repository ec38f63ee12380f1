//! Sequences of operations on two filters or two maplets of any layout and kind.

use arbitrary::{Arbitrary, Unstructured};
use coucal_reference::{LAYOUTS, Layout, Modelled, Op, Subject};

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

/// An expression in which `$new` builds filters or maplets of this shape.
macro_rules! with_new {
    ($setup:expr, $new:ident => $done:expr) => {{
        let Setup { layout, kind, capacity, factor } = *$setup;
        let (grows, is_maplet) = (kind & 1 > 0, kind & 2 > 0);
        let all: Vec<Layout> =
            LAYOUTS.into_iter().filter(|layout| layout.grows() || !grows).collect();
        let layout = all[usize::from(layout) % all.len()];
        let first = usize::from(capacity);
        let most = first + first * usize::from(factor) / 100;
        let bits = |longest: u32| 1 + u32::from(kind >> 2) % longest;
        match (grows, is_maplet) {
            (false, false) => {
                let $new = || Modelled::new(layout.filter(first));
                $done
            }
            (true, false) => {
                let most = layout.greatest_exact(first, most);
                let $new = || Modelled::growing(layout.growing(first, most));
                $done
            }
            (false, true) => {
                let bits = bits(layout.longest_values());
                let $new = || Modelled::new(layout.maplet(first, bits));
                $done
            }
            (true, true) => {
                let bits = bits(layout.longest_values());
                let most = layout.greatest_exact_maplet(first, most, bits);
                let $new = || Modelled::growing(layout.growing_maplet(first, most, bits));
                $done
            }
        }
    }};
}

impl Setup {
    /// The bytes of a filter or maplet of this shape with what is stored for these keys, or with as much
    /// of it as there is room for.
    pub fn snapshot(&self, keys: impl Iterator<Item = u16>) -> Vec<u8> {
        with_new!(self, new => new().filled(keys))
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
        with_new!(&setup, new => apply_all(new(), new(), &mut data));
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
