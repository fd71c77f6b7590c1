//! The end of a compact frame, from which a kind takes its parameters.

use crate::bytes;
use crate::error::DecodeError;

/// The rest of a frame; fields are taken off its end.
pub(crate) struct Trailer<'a> {
    rest: &'a [u8],
    frame_len: usize,
}

impl<'a> Trailer<'a> {
    pub(crate) fn new(frame: &'a [u8]) -> Self {
        Self { rest: frame, frame_len: frame.len() }
    }

    /// Returns the bytes that are left: the payload, once all fields are taken.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the length of the rest, in bytes.
    pub(super) fn payload_len(&self) -> u64 {
        self.rest.len() as u64
    }

    /// Takes the last byte.
    pub(crate) fn pop(&mut self) -> Result<u8, DecodeError> {
        Ok(self.pop_many(1)?[0])
    }

    fn pop_many(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        self.require(len)?;
        let (before, taken) = self.rest.split_at(self.rest.len() - len);
        self.rest = before;
        Ok(taken)
    }

    /// Returns an error if fewer than `len` bytes are left.
    pub(super) fn require(&self, len: usize) -> Result<(), DecodeError> {
        if len <= self.rest.len() {
            return Ok(());
        }
        let min_bytes = (self.frame_len - self.rest.len() + len) as u64;
        Err(DecodeError::TooShort { actual_bytes: self.frame_len as u64, min_bytes })
    }

    /// Takes an integer of `len` bytes, 1 to 8, whose last byte is not zero: each value has one encoding, and 0 has
    /// none.
    pub(super) fn pop_short(&mut self, len: u8) -> Result<u64, DecodeError> {
        self.require(len.into())?;
        DecodeError::check_params(&[("compact_integer_len", len.into(), 1, 8)])?;
        let taken = self.pop_many(usize::from(len))?;
        match taken.last() {
            Some(0) => Err(DecodeError::Padding { offset_bytes: (self.rest.len() + taken.len() - 1) as u64, found: 0 }),
            _ => Ok(bytes::u64_padded(taken, 0)),
        }
    }
}
