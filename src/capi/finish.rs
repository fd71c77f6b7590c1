//! What comes out of a builder: a block or a compact frame, into the caller's memory, by the caller's allocator, or in
//! memory of the library.

use super::border::{caught, caught_or, put, required, run};
use super::builder::Builder;
use super::memory::{Allocated, Allocator, Bytes};
use super::status::{Error, Failure, Status};
use crate::{BuildError, FilterBlockBuilder};
use core::ffi::c_void;
use core::{ptr, slice};
use std::vec::Vec;

/// What is to be finished.
#[derive(Clone, Copy)]
pub(super) enum Frame {
    Block,
    Compact,
}

impl Frame {
    /// Bytes that suffice for what was added, if entries that are repeated far apart do not change the plan.
    fn max_len(self, builder: &FilterBlockBuilder) -> Result<usize, BuildError> {
        let (policy, num_entries) = (builder.policy(), builder.num_added());
        let len = match self {
            Self::Block => policy.max_block_len(num_entries),
            Self::Compact => policy.max_compact_len(num_entries),
        };
        Ok(usize::try_from(len?).unwrap_or(usize::MAX))
    }

    fn finish_into_slice(self, builder: &mut FilterBlockBuilder, out: &mut [u8]) -> Result<usize, BuildError> {
        match self {
            Self::Block => builder.finish_into_slice(out),
            Self::Compact => builder.finish_compact_into_slice(out),
        }
    }

    /// As a vector.
    pub(super) fn finish(self, builder: &mut FilterBlockBuilder) -> Result<Vec<u8>, Failure> {
        let mut frame = Vec::new();
        if let Ok(len) = self.max_len(builder) {
            frame.try_reserve_exact(len)?;
        }
        match self {
            Self::Block => builder.finish_into(&mut frame)?,
            Self::Compact => builder.finish_compact_into(&mut frame)?,
        };
        Ok(frame)
    }

    /// Into `capacity` bytes at `memory`. Returns the length.
    ///
    /// # Safety
    /// `memory` is null or valid for writes of `capacity` bytes.
    unsafe fn finish_at(
        self,
        builder: &mut FilterBlockBuilder,
        memory: *mut u8,
        capacity: usize,
    ) -> Result<usize, Failure> {
        if memory.is_null() || capacity > isize::MAX as usize {
            return Err(Failure::argument("out"));
        }
        // No more than will be used is written.
        let likely = self.max_len(builder).map_or(capacity, |len| len.min(capacity));
        let mut finish = |len: usize| {
            // SAFETY: not null, by the check above; valid for `len <= capacity` bytes, by the caller's promise. A slice
            // needs defined contents.
            let out = unsafe {
                memory.write_bytes(0, len);
                slice::from_raw_parts_mut(memory, len)
            };
            self.finish_into_slice(builder, out)
        };
        match finish(likely) {
            Err(BuildError::OutputTooShort { .. }) if likely < capacity => Ok(finish(capacity)?),
            finished => Ok(finished?),
        }
    }

    /// Into memory of the caller's allocator, which is given away with the length of the frame.
    ///
    /// # Safety
    /// The allocator keeps to its documentation.
    pub(super) unsafe fn finish_with(
        self,
        builder: &mut FilterBlockBuilder,
        allocator: &Allocator,
    ) -> Result<(*mut c_void, usize), Failure> {
        if let Ok(max_len) = self.max_len(builder) {
            // SAFETY: the caller's promise.
            let mut memory = unsafe { Allocated::new(allocator, max_len) }?;
            match self.finish_into_slice(builder, memory.as_mut()) {
                Ok(len) => return Ok((memory.into_raw(), len)),
                Err(BuildError::OutputTooShort { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Without repeated entries the plan is another one, whose length is known when it is built.
        let mut again = builder.clone();
        let frame = self.finish(&mut again)?;
        // SAFETY: the caller's promise.
        let mut memory = unsafe { Allocated::new(allocator, frame.len()) }?;
        memory.as_mut().copy_from_slice(&frame);
        *builder = again;
        Ok((memory.into_raw(), frame.len()))
    }
}

impl Builder {
    /// Finishes by `finish`, and counts how it ended.
    pub(super) fn finish<T>(
        &mut self,
        finish: impl FnOnce(&mut FilterBlockBuilder) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let finished = match self.incomplete {
            Some(status) => {
                let message =
                    std::format!("the builder may lack a key, as a call has failed ({}): clear it", status.name());
                Err(Failure::new(Status::Incomplete, message))
            }
            None => caught(|| finish(&mut self.builder)),
        };
        let status = finished.as_ref().map_or_else(|failure| failure.status, |_| Status::Ok);
        if status == Status::Panic {
            self.incomplete = Some(status);
        }
        if let Some(counts) = &self.counts {
            counts.note_finish(status);
        }
        finished
    }
}

/// # Safety
/// Rule 1 of the interface.
unsafe fn finish_into(
    frame: Frame,
    builder: Option<&mut Builder>,
    (out, capacity): (*mut c_void, usize),
    len: *mut usize,
    error: *mut Error,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        put(len, 0);
        run(error, || {
            if len.is_null() {
                return Err(Failure::argument("len"));
            }
            let builder = required(builder, "builder")?;
            put(len, builder.finish(|builder| frame.finish_at(builder, out.cast(), capacity))?);
            Ok(())
        })
    }
}

/// # Safety
/// Rule 1 of the interface; the allocator keeps to its documentation.
unsafe fn finish_with(
    frame: Frame,
    builder: Option<&mut Builder>,
    allocator: Option<&Allocator>,
    (out, len): (*mut *mut c_void, *mut usize),
    error: *mut Error,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        put(out, ptr::null_mut());
        put(len, 0);
        run(error, || {
            if out.is_null() || len.is_null() {
                return Err(Failure::argument("out"));
            }
            let (builder, allocator) = (required(builder, "builder")?, required(allocator, "allocator")?);
            let (memory, frame_len) = builder.finish(|builder| frame.finish_with(builder, allocator))?;
            put(out, memory);
            put(len, frame_len);
            Ok(())
        })
    }
}

/// # Safety
/// Rule 1 of the interface.
unsafe fn finish(frame: Frame, builder: Option<&mut Builder>, bytes: *mut Bytes, error: *mut Error) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        put(bytes, Bytes::NONE);
        run(error, || {
            if bytes.is_null() {
                return Err(Failure::argument("bytes"));
            }
            let builder = required(builder, "builder")?;
            put(bytes, Bytes::new(builder.finish(|builder| frame.finish(builder))?));
            Ok(())
        })
    }
}

/// Bytes that suffice for the block of what was added. If equal entries were added far apart,
/// `filterblock_builder_finish_into` may find them too few; then it drops the repeated ones, and the number suffices
/// that is returned after that. 0 where no block can be built, and of a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_max_block_len(builder: Option<&Builder>) -> usize {
    max_len(Frame::Block, builder)
}

/// As `filterblock_builder_max_block_len`, for the compact frame.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_max_compact_len(builder: Option<&Builder>) -> usize {
    max_len(Frame::Compact, builder)
}

fn max_len(frame: Frame, builder: Option<&Builder>) -> usize {
    caught_or(0, || builder.map_or(0, |builder| frame.max_len(&builder.builder).unwrap_or(0)))
}

/// Writes the block of what was added to the `capacity` bytes at `out`, of any alignment, and its length to `*len`.
/// Then the builder is empty, and ready for the next table. After an error it keeps what was added, `*len` is 0, and
/// what is in `out` means nothing. Without entries the block is a header, which answers *no*.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_finish_into(
    builder: Option<&mut Builder>,
    out: *mut c_void,
    capacity: usize,
    len: *mut usize,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe { finish_into(Frame::Block, builder, (out, capacity), len, error) }
}

/// Writes the block of what was added to memory of the caller's allocator, without a second copy, and gives it to the
/// caller: `*len` bytes at `*out`. The memory may be longer, where the block's length depends on the keys. After an
/// error `*out` is null, and all memory has been given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_finish_with(
    builder: Option<&mut Builder>,
    allocator: Option<&Allocator>,
    out: *mut *mut c_void,
    len: *mut usize,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe { finish_with(Frame::Block, builder, allocator, (out, len), error) }
}

/// The block of what was added, in memory of the library. What `*bytes` held before is overwritten, and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_finish(
    builder: Option<&mut Builder>,
    bytes: *mut Bytes,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe { finish(Frame::Block, builder, bytes, error) }
}

/// As `filterblock_builder_finish_into`, a compact frame: 2 to 20 bytes more than its payload, without checksum, seed,
/// transform, context and number of entries, for engines that keep these themselves and have many small filters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_finish_compact_into(
    builder: Option<&mut Builder>,
    out: *mut c_void,
    capacity: usize,
    len: *mut usize,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe { finish_into(Frame::Compact, builder, (out, capacity), len, error) }
}

/// As `filterblock_builder_finish_with`, a compact frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_finish_compact_with(
    builder: Option<&mut Builder>,
    allocator: Option<&Allocator>,
    out: *mut *mut c_void,
    len: *mut usize,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe { finish_with(Frame::Compact, builder, allocator, (out, len), error) }
}

/// As `filterblock_builder_finish`, a compact frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_finish_compact(
    builder: Option<&mut Builder>,
    bytes: *mut Bytes,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe { finish(Frame::Compact, builder, bytes, error) }
}
