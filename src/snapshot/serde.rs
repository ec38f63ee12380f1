//! Snapshots, and what is restored from them, in the data formats of `serde`: as the bytes of snapshots.

use core::fmt;

use serde_core::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde_core::ser::{Serialize, Serializer};

use super::Snapshot;

impl Serialize for Snapshot {
    /// The [bytes](Snapshot::as_bytes) of the snapshot, as bytes. A format that has none (JSON, say)
    /// writes a list of numbers.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.as_bytes())
    }
}

impl<'de> Deserialize<'de> for Snapshot {
    /// Validates the bytes as [`Snapshot::read_from`] does, and nothing may follow them.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not `deserialize_bytes`: a format that reads bytes into a buffer may have a short one for those.
        deserializer.deserialize_byte_buf(Bytes)
    }
}

/// What is restored from snapshots is its snapshot, and has one of the hashers that come back from nothing. A type of
/// which some values would lose something has a method that tells these, and what their error says.
macro_rules! by_snapshot {
    ($type:ident $loss:tt) => {
        crate::snapshot::serde::by_snapshot!($type StableHashBuilder $loss);
        crate::snapshot::serde::by_snapshot!($type NoHasher $loss);
    };
    ($type:ident $hasher:ident { $($(#[$doc:meta])* unless $loses:ident: $text:literal)? }) => {
        impl<L: crate::storage::Storage> serde_core::Serialize for $type<L, crate::hasher::$hasher> {
            /// Its [`Snapshot`](crate::Snapshot).
            ///
            /// # Errors
            ///
            /// If the seed of the hasher is not the default one: nobody could read it. Serialize the
            /// [`snapshot`](Self::snapshot), and restore it with the hasher.
            $($(#[$doc])*)?
            fn serialize<S: serde_core::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if *self.hasher() != crate::hasher::$hasher::default() {
                    return Err(serde_core::ser::Error::custom(
                        "only the default seed of a StableHashBuilder comes back, and this filter has another: \
                         serialize its `snapshot()`, and restore that with the hasher",
                    ));
                }
                $(if self.$loses() {
                    return Err(serde_core::ser::Error::custom($text));
                })?
                self.snapshot().map_err(serde_core::ser::Error::custom)?.serialize(serializer)
            }
        }

        impl<'de, L: crate::storage::Storage> serde_core::Deserialize<'de> for $type<L, crate::hasher::$hasher> {
            fn deserialize<D: serde_core::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let snapshot = <crate::snapshot::Snapshot as serde_core::Deserialize>::deserialize(deserializer)?;
                Self::from_snapshot(&snapshot, crate::hasher::$hasher::default()).map_err(serde_core::de::Error::custom)
            }
        }
    };
}

pub(crate) use by_snapshot;

/// Bytes of memory that a list may have before its elements come.
const MOST_RESERVED: usize = 1 << 16;

struct Bytes;

impl<'de> Visitor<'de> for Bytes {
    type Value = Snapshot;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a snapshot")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Snapshot, E> {
        Snapshot::from_bytes(bytes).map_err(E::custom)
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Snapshot, E> {
        Snapshot::from_bytes(bytes).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Snapshot, A::Error> {
        // The format says how long the list is, and may say anything.
        let mut bytes = Vec::with_capacity(list.size_hint().unwrap_or(0).min(MOST_RESERVED));
        while let Some(byte) = list.next_element()? {
            bytes.push(byte);
        }
        self.visit_byte_buf(bytes)
    }
}
