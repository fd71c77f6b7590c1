//! The store's errors.

use core::fmt;
use std::io;
use std::sync::Arc;

/// Why an operation of the store failed.
///
/// Filters never make one fail: one that cannot be used is a [`super::Warning`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system reported an error.
    Io {
        /// The file, or the directory's path.
        file: String,
        /// The operation that failed.
        operation: &'static str,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// Bytes of a table, log or manifest are not those that were written.
    Damaged {
        /// The file.
        file: String,
        /// The offset of the damaged unit in the file.
        offset: u64,
        /// The kind of damage.
        damage: Damage,
    },
    /// A table, log or manifest was written by a later version of the store.
    NewerVersion {
        /// The file.
        file: String,
        /// The stored version.
        found: u32,
        /// The newest version that this library reads.
        supported: u32,
    },
    /// A table has another table's name.
    Misplaced {
        /// The table's file.
        file: String,
        /// The number in its name.
        named: u64,
        /// The number in its footer.
        stored: u64,
    },
    /// A row, column or value is above its limit.
    TooLong {
        /// The name of the part: row, column or value.
        what: &'static str,
        /// Its length.
        actual_bytes: u64,
        /// The limit.
        max_bytes: u64,
    },
    /// A value of [`StoreOptions`](super::StoreOptions) is outside of its range. Nothing was opened.
    OutOfRange {
        /// The option.
        option: &'static str,
        /// The given value.
        given: u64,
        /// The least legal value.
        min: u64,
        /// The greatest legal value.
        max: u64,
    },
    /// A filter for a level that no store has.
    NoSuchLevel {
        /// The given level.
        level: usize,
        /// The deepest level.
        max: usize,
    },
    /// The directory holds files, but none of a store; it was left unchanged.
    NotAStore {
        /// The names of some of the files.
        files: Vec<String>,
        /// The number of files.
        num_files: usize,
    },
    /// There is no store, and the options did not allow creating one.
    NoStore,
    /// The directory holds tables or logs, but no manifest that names the live ones.
    NoManifest {
        /// The number of tables, logs and filter files.
        num_files: usize,
    },
    /// A file that the manifest names is missing.
    Missing {
        /// The file.
        file: String,
    },
    /// The store's filters are hashed under a secret key that was not given, or a key was given and they are not.
    /// Opening with [`change_hash_key`](super::StoreOptions::with_key_change) gives the store another key, or none.
    HashKey {
        /// The id of the store's key; `None` if its hashes have a seed.
        stored: Option<u64>,
        /// The id of the key that was given, if any.
        given: Option<u64>,
    },
    /// Two hashers were given for one store, at least one of them with a secret key: the policies of its filters must
    /// have the store's key, or none.
    ConflictingHashKeys {
        /// The ids of their keys; `None` for a seed.
        key_ids: [Option<u64>; 2],
    },
    /// Another process, or another [`Store`](super::Store) of this one, has the store open.
    Locked,
    /// The store was opened for reading only.
    ReadOnly,
    /// The disk has too little room to flush and compact what the store holds after this write, which was refused. Writes
    /// go on when there is room.
    NoRoom {
        /// The bytes that are free.
        free_bytes: u64,
        /// The bytes that must be.
        needed_bytes: u64,
    },
    /// The store's background work has failed and memory is full. It is retried for each write that needs room.
    Stalled {
        /// The failure.
        cause: String,
    },
    /// An earlier sync failed, so it is unknown what is on the disk: the store takes no more writes until it is
    /// reopened.
    Poisoned,
    /// A thread of the store, or one that used it, panicked while it changed the store, which takes no more writes
    /// until it is reopened. No acknowledged write is lost, and reads go on.
    Panicked,
}

impl Error {
    pub(crate) fn io(file: &str, operation: &'static str, source: io::Error) -> Self {
        Self::Io { file: file.to_owned(), operation, source: Arc::new(source) }
    }

    pub(crate) fn damaged(file: &str, offset: u64, damage: Damage) -> Self {
        Self::Damaged { file: file.to_owned(), offset, damage }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { file, operation, source } => write!(f, "{file}: {operation}: {source}"),
            Self::Damaged { file, offset, damage } => write!(f, "{file}: at offset {offset}: {damage}"),
            Self::NewerVersion { file, found, supported } => {
                write!(f, "{file}: version {found} is newer than this reader's {supported}")
            }
            Self::Misplaced { file, named, stored } => {
                write!(f, "{file}: the number is {named} in the name, {stored} in the footer")
            }
            Self::TooLong { what, actual_bytes, max_bytes } => {
                write!(f, "a {what} of {actual_bytes} bytes is above the limit of {max_bytes}")
            }
            Self::OutOfRange { option, given, min, max: u64::MAX } => {
                write!(f, "{option} is {given}, and must be at least {min}")
            }
            Self::OutOfRange { option, given, min, max } => {
                write!(f, "{option} is {given}, and must be from {min} to {max}")
            }
            Self::NoSuchLevel { level, max } => write!(f, "level {level} is deeper than {max}, the deepest of a store"),
            Self::NotAStore { files, num_files } => {
                write!(f, "not a store: {num_files} other files are here, among them {}", files.join(", "))
            }
            Self::NoStore => f.write_str("no store is here"),
            Self::NoManifest { num_files } => {
                write!(f, "the manifest is missing, which names the live ones of the {num_files} tables and logs here")
            }
            Self::Missing { file } => write!(f, "{file}: missing, though the manifest names it"),
            Self::HashKey { stored, given } => {
                let (needed, given) = (key(*stored, "no secret key"), key(*given, "none"));
                write!(f, "the store's filters are hashed under {needed}, and {given} was given")
            }
            Self::ConflictingHashKeys { key_ids } => {
                let [one, other] = key_ids.map(|id| key(id, "a seed"));
                write!(f, "filters of one store cannot be hashed under {one} and under {other}")
            }
            Self::Locked => f.write_str("the store is open elsewhere"),
            Self::ReadOnly => f.write_str("the store was opened for reading only"),
            Self::NoRoom { free_bytes, needed_bytes } => {
                let missing = needed_bytes.saturating_sub(*free_bytes);
                write!(
                    f,
                    "the write was refused, as compaction needs {needed_bytes} bytes of the disk and {free_bytes} are free: free {missing} more"
                )
            }
            Self::Stalled { cause } => {
                write!(f, "no room for writes until background work succeeds, which has failed: {cause}")
            }
            Self::Poisoned => {
                f.write_str("an earlier sync failed: the store takes no more writes until it is opened again")
            }
            Self::Panicked => f.write_str(
                "a thread panicked while it changed the store, which takes no more writes until it is opened again",
            ),
        }
    }
}

/// A secret key as messages name it.
fn key(id: Option<u64>, none: &str) -> String {
    id.map_or_else(|| none.to_owned(), |id| format!("the secret key {id:#018x}"))
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

/// The kind of damage in a file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// The file's length is not a whole number of pages, or is less than a footer.
    FileLength {
        /// The file's length.
        actual_bytes: u64,
    },
    /// A unit does not start with its magic number: something else is here, or the file is cut off.
    Magic {
        /// The name of the unit.
        unit: &'static str,
        /// The bytes found, as a little-endian integer.
        found: u64,
    },
    /// A unit's CRC-32 does not match its bytes, or the unit belongs to another location or table.
    Checksum {
        /// The name of the unit.
        unit: &'static str,
        /// The checksum stored.
        stored: u32,
        /// The checksum computed from the bytes.
        computed: u32,
    },
    /// A field contradicts the rest of the file.
    Field {
        /// The name of the field.
        name: &'static str,
        /// Its value.
        found: u64,
        /// The value that the rest of the file implies.
        expected: u64,
    },
    /// A unit ends in the middle of a field.
    CutOff {
        /// The name of the unit.
        unit: &'static str,
        /// The unit's length.
        actual_bytes: u64,
    },
    /// The value of a field is impossible after the fields that were read before it.
    Contradiction {
        /// The name of the field.
        name: &'static str,
        /// Its value.
        found: u64,
    },
    /// Keys are not in strictly ascending order.
    Order {
        /// Number of the first block or cell that is not above its predecessor.
        position: u64,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::FileLength { actual_bytes } => {
                write!(f, "a table's length is a positive number of 4096-byte pages, not {actual_bytes} bytes")
            }
            Self::Magic { unit, found } => write!(f, "no {unit} here: magic {found:#018x}"),
            Self::Checksum { unit, stored, computed } => {
                write!(f, "{unit} checksum stored {stored:#010x}, computed {computed:#010x}")
            }
            Self::Field { name, found, expected } => write!(f, "{name} is {found} where {expected} is expected"),
            Self::Contradiction { name, found } => write!(f, "{name} cannot be {found}"),
            Self::CutOff { unit, actual_bytes } => write!(f, "{unit} of {actual_bytes} bytes ends inside a field"),
            Self::Order { position } => write!(f, "keys out of order at position {position}"),
        }
    }
}

impl std::error::Error for Damage {}
