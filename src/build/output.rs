//! The destination of a frame, and the outcome of a build.

use super::Repeated;
use std::vec::Vec;

/// A vector that grows, or memory of fixed length.
#[derive(Debug)]
pub(crate) enum Output<'a> {
    Vec(&'a mut Vec<u8>),
    Slice { memory: &'a mut [u8], len: usize },
}

/// An error: memory of fixed length is too short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NoRoom {
    /// The number of bytes that were needed so far; the rest of the frame may need more.
    pub(crate) needed_bytes: u64,
    pub(crate) actual_bytes: u64,
}

impl Output<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Vec(bytes) => bytes.len(),
            Self::Slice { len, .. } => *len,
        }
    }

    /// Returns the bytes written so far, from `start` on.
    pub(crate) fn written(&self, start: usize) -> &[u8] {
        match self {
            Self::Vec(bytes) => &bytes[start..],
            Self::Slice { memory, len } => &memory[start..*len],
        }
    }

    /// Returns the bytes of [`Output::written`], to be overwritten.
    pub(crate) fn written_mut(&mut self, start: usize) -> &mut [u8] {
        match self {
            Self::Vec(bytes) => &mut bytes[start..],
            Self::Slice { memory, len } => &mut memory[start..*len],
        }
    }

    /// Appends `additional` zeros, and returns them.
    pub(crate) fn append_zeros(&mut self, additional: usize) -> Result<&mut [u8], NoRoom> {
        let start = self.len();
        match self {
            Self::Vec(bytes) => bytes.resize(start + additional, 0),
            Self::Slice { memory, len } => {
                let needed = start.saturating_add(additional);
                let Some(zeros) = memory.get_mut(start..needed) else {
                    return Err(NoRoom { needed_bytes: needed as u64, actual_bytes: memory.len() as u64 });
                };
                zeros.fill(0);
                *len = needed;
            }
        }
        Ok(self.written_mut(start))
    }

    /// Makes room for `additional` bytes in a vector.
    pub(crate) fn reserve(&mut self, additional: usize) {
        if let Self::Vec(bytes) = self {
            bytes.reserve_exact(additional);
        }
    }

    /// Appends `bytes`.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        self.append_zeros(bytes.len()).map(|place| place.copy_from_slice(bytes))
    }

    /// Takes back the bytes that were written from `start` on. A vector that grew meanwhile also gives its memory back,
    /// which may be many times the needed length.
    pub(crate) fn truncate(&mut self, start: usize, capacity: usize) {
        match self {
            Self::Vec(bytes) => {
                bytes.truncate(start);
                bytes.shrink_to(capacity);
            }
            Self::Slice { len, .. } => *len = start,
        }
    }

    /// Returns the number of bytes for which there is memory.
    pub(crate) fn capacity(&self) -> usize {
        match self {
            Self::Vec(bytes) => bytes.capacity(),
            Self::Slice { memory, .. } => memory.len(),
        }
    }
}

/// A payload that was appended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Built<P> {
    pub(crate) params: P,
    /// Whether every hash was found. If not, because the build does not check or because something is wrong, the
    /// finished frame is queried for all hashes.
    pub(crate) is_checked: bool,
}

impl<P> Built<P> {
    pub(crate) fn map<Q>(self, wrap: impl FnOnce(P) -> Q) -> Built<Q> {
        Built { params: wrap(self.params), is_checked: self.is_checked }
    }
}

/// The reason why a payload was not built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unbuilt {
    /// A hash occurs twice.
    Repeated,
    NoRoom(NoRoom),
    /// None of `num_seeds` attempts suits these `num_entries` hashes. If they were not remapped, that is tried next.
    Unsolved {
        num_seeds: u32,
        num_entries: u64,
    },
}

impl From<Repeated> for Unbuilt {
    fn from(Repeated: Repeated) -> Self {
        Self::Repeated
    }
}

impl From<NoRoom> for Unbuilt {
    fn from(no_room: NoRoom) -> Self {
        Self::NoRoom(no_room)
    }
}
