//! Snapshots, and the filters that are restored from them, in the data formats of `serde`: as the bytes of snapshots.

use core::fmt;

use serde_core::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde_core::ser::{Serialize, Serializer};

use super::Snapshot;
use crate::sync::memory::{NoMemory, try_push, try_with_capacity};

impl Serialize for Snapshot {
    /// Serializes the [bytes](Snapshot::as_bytes) of the snapshot, as bytes. A format without bytes, such as JSON,
    /// writes a list of numbers.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.as_bytes())
    }
}

impl<'de> Deserialize<'de> for Snapshot {
    /// Deserializes the bytes, and validates them as [`Snapshot::from_bytes`] does.
    ///
    /// # Errors
    ///
    /// Those of the format, and those of [`Snapshot::from_bytes`], as an error of the format with their message.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not `deserialize_bytes`: a format that reads these into a buffer may have a short buffer.
        deserializer.deserialize_byte_buf(Bytes)
    }
}

/// Implements `Serialize` and `Deserialize` for a type with each hasher whose default is the same in every process. The
/// type is serialized as its snapshot. If the method `$loses` returns true, the value has settings that a snapshot does
/// not contain, and serializing it fails with the message `$text`.
macro_rules! by_snapshot {
    ($type:ident $loss:tt) => {
        crate::snapshot::serde::by_snapshot!($type StableHashBuilder $loss);
        crate::snapshot::serde::by_snapshot!($type NoHasher $loss);
    };
    ($type:ident $hasher:ident { $($(#[$doc:meta])* unless $loses:ident: $text:literal)? }) => {
        impl<L: crate::storage::Storage> serde_core::Serialize for $type<L, crate::hasher::$hasher> {
            /// Serializes its [`Snapshot`](crate::Snapshot).
            ///
            /// # Errors
            ///
            /// If the seed of the hasher is not the default one, since nobody could read the result. Serialize the
            /// [`snapshot`](Self::snapshot) instead, and restore it with the hasher.
            $($(#[$doc])*)?
            fn serialize<S: serde_core::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if *self.hasher() != crate::hasher::$hasher::default() {
                    return Err(serde_core::ser::Error::custom(
                        "a filter can be deserialized only with the default seed of a StableHashBuilder, and this one \
                         has another seed: serialize its `snapshot()`, and restore that with the hasher",
                    ));
                }
                $(if self.$loses() {
                    return Err(serde_core::ser::Error::custom($text));
                })?
                self.snapshot().map_err(serde_core::ser::Error::custom)?.serialize(serializer)
            }
        }

        impl<'de, L: crate::storage::Storage> serde_core::Deserialize<'de> for $type<L, crate::hasher::$hasher> {
            #[doc = concat!(
                "Deserializes a [`Snapshot`](crate::Snapshot), and restores it with the hasher [`",
                stringify!($hasher), "::default()`](crate::", stringify!($hasher), ")."
            )]
            ///
            /// # Errors
            ///
            /// Those of the format; those of [`Snapshot::from_bytes`](crate::Snapshot::from_bytes); and those of
            /// [`from_snapshot`](Self::from_snapshot), for example if the snapshot is of another type, layout or hasher.
            /// The error is one of the format, with the message of the [`Error`](crate::Error).
            fn deserialize<D: serde_core::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let snapshot = <crate::snapshot::Snapshot as serde_core::Deserialize>::deserialize(deserializer)?;
                Self::from_snapshot(&snapshot, crate::hasher::$hasher::default()).map_err(serde_core::de::Error::custom)
            }
        }
    };
}

pub(crate) use by_snapshot;

/// The maximum number of bytes that are reserved for a list before its elements arrive.
const MOST_RESERVED: usize = 1 << 13;

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
        let failed = |error: NoMemory| A::Error::custom(crate::error::Error::from(error));
        // The format states the length of the list, and may state any number.
        let reserved = list.size_hint().unwrap_or(0).min(MOST_RESERVED);
        let mut bytes = try_with_capacity(reserved).map_err(failed)?;
        while let Some(byte) = list.next_element()? {
            try_push(&mut bytes, byte).map_err(failed)?;
        }
        self.visit_byte_buf(bytes)
    }
}
