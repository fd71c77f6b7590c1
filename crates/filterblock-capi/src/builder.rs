//! Builders: keys go in, and a block or a compact frame comes out.

use crate::border::{bytes, caught, caught_or, filled, required, run};
use crate::counters::{Counters, Counts};
use crate::memory::{Allocated, Allocator};
use crate::partition_builder::Partitions;
use crate::policy::Policy;
use crate::status::{Error, Failure, Status};
use crate::versioned;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;
use filterblock::range::{RangeFilterBuilder, RangePolicy};
use filterblock::{BuildError, FilterBlockBuilder, KeyHash};
use std::sync::Arc;

/// A builder turns the keys of one table into one filter: `new (add* finish)* free`. It keeps 8 bytes an entry; one of
/// range filters keeps the keys, too.
pub struct Builder {
    made: Made,
    notes: Notes,
}

/// The kinds of builder.
enum Made {
    Keys(FilterBlockBuilder),
    Ranges(RangeFilterBuilder),
    Partitions(Box<Partitions>),
}

/// Calls the same method of each.
macro_rules! either {
    ($made:expr, $builder:ident => $call:expr) => {
        match $made {
            Made::Keys($builder) => $call,
            Made::Ranges($builder) => $call,
            Made::Partitions($builder) => $call,
        }
    };
}

impl Builder {
    fn new(made: Made, counters: Option<&Counters>) -> Self {
        Self { made, notes: Notes::new(counters) }
    }

    pub(crate) fn of_ranges(policy: RangePolicy, counters: Option<&Counters>) -> Self {
        Self::new(Made::Ranges(RangeFilterBuilder::new(policy)), counters)
    }

    pub(crate) fn of_partitions(partitions: Partitions, counters: Option<&Counters>) -> Self {
        Self::new(Made::Partitions(Box::new(partitions)), counters)
    }
}

/// Notes of a builder's calls.
pub(crate) struct Notes {
    /// The reason why a key may be missing.
    incomplete: Option<Status>,
    counts: Option<Arc<Counts>>,
}

impl Notes {
    pub(crate) fn new(counters: Option<&Counters>) -> Self {
        Self { incomplete: None, counts: counters.map(Counters::shared) }
    }

    /// Adds by `add`. After a failure the builder refuses to finish: a filter without the key would deny it.
    fn add(&mut self, add: impl FnOnce() -> Result<Status, Failure>) -> Status {
        caught(add).unwrap_or_else(|failure| {
            self.incomplete = Some(failure.status);
            failure.status
        })
    }

    /// Finishes by `finish`, and counts how it ended.
    pub(crate) fn finish<T>(&mut self, finish: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        let finished = match self.incomplete {
            Some(status) => {
                let why = status.name();
                let message = std::format!("the builder may lack a key, as a call has failed ({why}): clear it");
                Err(Failure::new(Status::Incomplete, message))
            }
            None => caught(finish),
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

/// An empty builder, to be freed by `filterblock_builder_free`; null of a null policy. What it finishes and what it
/// cannot is counted in `counters`, unless they are null; the builder keeps what it needs of them.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_new(
    policy: Option<&Policy>,
    counters: Option<&Counters>,
) -> Option<Box<Builder>> {
    policy.map(|policy| Box::new(Builder::new(Made::Keys(FilterBlockBuilder::new(&policy.0)), counters)))
}

/// Frees a builder. A null pointer is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_free(builder: Option<Box<Builder>>) {
    drop(builder);
}

/// Forgets what was added, and the context: for a builder that has refused to finish, or a table that is given up.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_clear(builder: Option<&mut Builder>) -> Status {
    let Some(builder) = builder else { return Status::Argument };
    either!(&mut builder.made, builder => builder.clear());
    builder.notes.incomplete = None;
    Status::Ok
}

/// Binds the next block to `context`, say a file's number mixed with the block's offset: a reader must name the same
/// one. It holds until the next finish that succeeds.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_set_context(builder: Option<&mut Builder>, context: u64) -> Status {
    let Some(builder) = builder else { return Status::Argument };
    either!(&mut builder.made, builder => _ = builder.set_context(context));
    Status::Ok
}

/// Permits the next block to have no entries, for a table without keys. Without this call a builder that received
/// nothing since its last finish refuses to finish, because an empty block denies every key. It holds until the next
/// finish that succeeds.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_allow_empty(builder: Option<&mut Builder>) -> Status {
    let Some(builder) = builder else { return Status::Argument };
    either!(&mut builder.made, builder => _ = builder.allow_empty());
    Status::Ok
}

/// Adds to a builder of keys by `add`, at most two entries, or those for which `add` makes room.
fn add(builder: Option<&mut Builder>, add: impl FnOnce(&mut FilterBlockBuilder) -> Result<(), Failure>) -> Status {
    let Some(Builder { made, notes }) = builder else { return Status::Argument };
    notes.add(|| {
        let Made::Keys(builder) = made else {
            return Err(Failure::new(Status::NotBuilt, "range filters and partitions take keys alone"));
        };
        builder.try_reserve(2)?;
        add(builder)?;
        // The message of the finish names the transform that a key does not fit.
        Ok(builder.refusal().map_or(Status::Ok, |_| Status::NotBuilt))
    })
}

/// Adds a key that is one byte string. The policy's transform is applied. A key that has no entry, such as one shorter
/// than the prefix, is counted, and *maybe* in every filter; one of a form of which the transform makes no entries is
/// `FILTERBLOCK_STATUS_NOT_BUILT`. After an error the builder refuses to finish until it is cleared. Ascending keys are
/// added fastest to a range filter, which needs no sorting then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_add_key(
    builder: Option<&mut Builder>,
    key: *const c_void,
    key_len: usize,
) -> Status {
    // SAFETY: `key` is valid for `key_len` bytes (rule 1).
    let key = unsafe { bytes(key, key_len) };
    match builder {
        Some(Builder { made: Made::Ranges(builder), notes }) => notes.add(|| {
            let key = required(key, "key")?;
            builder.try_reserve_key(key.len())?;
            builder.add_key(key);
            Ok(Status::Ok)
        }),
        Some(Builder { made: Made::Partitions(builder), notes }) => {
            notes.add(|| builder.add_key(required(key, "key")?))
        }
        builder => add(builder, |builder| {
            let key = required(key, "key")?;
            builder.try_reserve(1 + builder.policy().transform().prefixes_of(key).count())?;
            builder.add_key(key);
            Ok(())
        }),
    }
}

/// Adds a row, for a filter of rows. For errors see `filterblock_builder_add_key`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_add_row(
    builder: Option<&mut Builder>,
    row: *const c_void,
    row_len: usize,
) -> Status {
    // SAFETY: `row` is valid for `row_len` bytes (rule 1).
    let row = unsafe { bytes(row, row_len) };
    add(builder, |builder| required(row, "row").map(|row| builder.add_row(row)))
}

/// Adds a key that consists of a row and a column, for a filter of rows, or of rows with columns. For errors see
/// `filterblock_builder_add_key`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_add_row_column(
    builder: Option<&mut Builder>,
    row: *const c_void,
    row_len: usize,
    column: *const c_void,
    column_len: usize,
) -> Status {
    // SAFETY: `row` is valid for `row_len` bytes, and `column` for `column_len` (rule 1).
    let key = unsafe { bytes(row, row_len).zip(bytes(column, column_len)) };
    add(builder, |builder| required(key, "row or column").map(|(row, column)| builder.add_row_column(row, column)))
}

/// Adds an entry by its hash under the policy's seed or secret key, as `filterblock_policy_hash_key` makes it. Nothing
/// checks this: where it is not so, the filter denies keys that are stored. It is one entry: under `whole-key+prefix`
/// and `delimited` a key's other prefixes are denied, which `filterblock_builder_add_key` adds.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_add_hash(builder: Option<&mut Builder>, hash: u64) -> Status {
    add(builder, |builder| {
        builder.add_hash(KeyHash::from_raw(hash));
        Ok(())
    })
}

/// The number of entries added since the last finish; of neighbours that are equal, one is counted. 0 of a null
/// pointer.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_num_added(builder: Option<&Builder>) -> u64 {
    builder.map_or(0, |builder| either!(&builder.made, builder => builder.num_added()))
}

/// The number of keys added since the last finish that have no entry under the policy's transform. If it is above 0 and
/// `filterblock_builder_num_added` is 0, the block will have no entries: it is right, but the transform does not suit the
/// table's keys. 0 of a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_num_without_entry(builder: Option<&Builder>) -> u64 {
    match builder {
        Some(Builder { made: Made::Keys(builder), .. }) => builder.num_without_entry(),
        Some(Builder { made: Made::Partitions(builder), .. }) => builder.num_without_entry(),
        _ => 0,
    }
}

/// The form in which a filter is finished.
#[derive(Clone, Copy)]
pub(crate) enum Frame {
    Block,
    Compact,
}

impl Frame {
    /// Returns a number of bytes that suffices for what was added, if entries that are repeated far apart do not change
    /// the plan.
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

    /// Finishes into memory of the caller's allocator. Returns the memory with the length that was requested, and the
    /// length of the frame.
    ///
    /// # Safety
    /// The functions of `allocator` keep to its documentation.
    pub(crate) unsafe fn finish_with<'a>(
        self,
        builder: &mut FilterBlockBuilder,
        allocator: &'a Allocator,
    ) -> Result<(Allocated<'a>, usize), Failure> {
        if let Ok(max_len) = self.max_len(builder) {
            // SAFETY: the functions of `allocator` keep to its documentation: rules 1 and 4.
            let mut memory = unsafe { Allocated::new(allocator, max_len) }?;
            match self.finish_into_slice(builder, memory.as_mut()) {
                Ok(len) => return Ok((memory, len)),
                Err(BuildError::OutputTooShort { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Without repeated entries the plan is another one, whose length is known when it is built.
        let (mut again, mut frame) = (builder.clone(), Vec::new());
        match self {
            Self::Block => again.finish_into(&mut frame)?,
            Self::Compact => again.finish_compact_into(&mut frame)?,
        };
        // SAFETY: the functions of `allocator` keep to its documentation: rules 1 and 4.
        let mut memory = unsafe { Allocated::new(allocator, frame.len()) }?;
        memory.as_mut().copy_from_slice(&frame);
        *builder = again;
        Ok((memory, frame.len()))
    }
}

/// The places for memory of the caller's allocator: null and 0 until the call succeeds.
pub(crate) struct Places<'a> {
    memory: &'a mut *mut c_void,
    len: &'a mut usize,
    capacity: Option<&'a mut usize>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(
        memory: Option<&'a mut MaybeUninit<*mut c_void>>,
        len: Option<&'a mut MaybeUninit<usize>>,
        capacity: Option<&'a mut MaybeUninit<usize>>,
    ) -> Result<Self, Failure> {
        let (memory, len) = (memory.map(|memory| memory.write(ptr::null_mut())), len.map(|len| len.write(0)));
        let capacity = capacity.map(|capacity| capacity.write(0));
        Ok(Self { memory: required(memory, "memory")?, len: required(len, "len")?, capacity })
    }

    pub(crate) fn put(self, (allocated, len): (Allocated<'_>, usize)) {
        let (memory, capacity) = allocated.into_raw();
        (*self.memory, *self.len) = (memory, len);
        if let Some(place) = self.capacity {
            *place = capacity;
        }
    }
}

/// A number of bytes that suffices for the block of what was added. If equal entries were added far apart,
/// `filterblock_builder_finish_into` may find them too few; then it drops the repeated ones, and the number suffices
/// that is returned after that. 0 where no block can be built, of a null pointer, and of a builder of range filters or
/// partitions, whose length is not known before.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_max_block_len(builder: Option<&Builder>) -> usize {
    caught_or(0, || match builder {
        Some(Builder { made: Made::Keys(builder), .. }) => Frame::Block.max_len(builder).unwrap_or(0),
        _ => 0,
    })
}

/// Writes the block of what was added to the `capacity` bytes at `out`, of any alignment, and its length to `*len`.
/// Then the builder is empty, and ready for the next table: keep the block, as a second finish is refused.
/// After an error it keeps what was added (one of partitions after TOO_SHORT and NO_MEMORY alone), `*len` is 0, and what is
/// in `out` means nothing. The block of a table without keys (`filterblock_builder_allow_empty`), or of keys none of which
/// has an entry, is a header, which answers *no* to every key that could have one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_finish_into(
    builder: Option<&mut Builder>,
    out: *mut c_void,
    capacity: usize,
    len: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Status {
    run(error, || {
        let len = required(len, "len")?.write(0);
        let Builder { made, notes } = required(builder, "builder")?;
        let fill = |len: usize| {
            // SAFETY: `out` is valid for `capacity` bytes, which the caller does not use (rule 1), and `len <= capacity`
            // by both callers.
            required(unsafe { filled(out.cast::<u8>(), len, 0) }, "out")
        };
        *len = notes.finish(|| match made {
            Made::Keys(builder) => {
                // No more than will be used is written.
                let likely = Frame::Block.max_len(builder).map_or(capacity, |len| len.min(capacity));
                let mut finish = |len| Ok(Frame::Block.finish_into_slice(builder, fill(len)?)?);
                match finish(likely) {
                    Err(Failure { status: Status::TooShort, .. }) if likely < capacity => finish(capacity),
                    finished => finished,
                }
            }
            Made::Ranges(builder) => finish_ranges(builder, |len| place_of(len, capacity, fill)).map(|(_, len)| len),
            Made::Partitions(builder) => builder.finish(|len| place_of(len, capacity, fill)).map(|(_, len)| len),
        })?;
        Ok(())
    })
}

/// Returns the place that `fill` has for `len` bytes out of `capacity`.
fn place_of<'a>(
    len: usize,
    capacity: usize,
    fill: impl FnOnce(usize) -> Result<&'a mut [u8], Failure>,
) -> Result<(&'a mut [u8], usize), Failure> {
    if len > capacity {
        let (needed_bytes, actual_bytes) = (len as u64, capacity as u64);
        return Err(BuildError::OutputTooShort { needed_bytes, actual_bytes }.into());
    }
    Ok((fill(len)?, len))
}

/// Finishes a range filter into the memory that `place` has for its length. After an error the builder keeps its keys.
fn finish_ranges<M: AsMut<[u8]>>(
    builder: &mut RangeFilterBuilder,
    place: impl FnOnce(usize) -> Result<(M, usize), Failure>,
) -> Result<(M, usize), Failure> {
    let mut block = Vec::new();
    let (mut memory, len) = place(builder.build_into(&mut block)?)?;
    memory.as_mut().copy_from_slice(&block);
    builder.clear();
    Ok((memory, len))
}

/// Writes the block of what was added to memory of the caller's allocator, without a second copy, and gives it to the
/// caller: `*len` bytes at `*memory`. `*capacity`, unless null, is the length that `alloc` was called with, with which
/// the memory is to be freed: it is more than `*len` where the block's length depends on the keys (never for a range
/// filter, of which there are two copies meanwhile). After an error `*memory` is null, and all memory has been given
/// back. For the rest see `filterblock_builder_finish_into`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_finish_with(
    builder: Option<&mut Builder>,
    allocator: *const Allocator,
    memory: Option<&mut MaybeUninit<*mut c_void>>,
    len: Option<&mut MaybeUninit<usize>>,
    capacity: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Status {
    run(error, || {
        let places = Places::new(memory, len, capacity)?;
        // SAFETY: `allocator` is null, or valid for as many bytes as its size states (rule 1).
        let allocator = unsafe { versioned::read(allocator, "allocator") }?;
        let Builder { made, notes } = required(builder, "builder")?;
        // SAFETY: the functions of `allocator` keep to its documentation (rule 4).
        places.put(notes.finish(|| unsafe {
            match made {
                Made::Keys(builder) => Frame::Block.finish_with(builder, &allocator),
                Made::Ranges(builder) => finish_ranges(builder, |len| Ok((Allocated::new(&allocator, len)?, len))),
                Made::Partitions(builder) => builder.finish(|len| Ok((Allocated::new(&allocator, len)?, len))),
            }
        })?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::{Builder, Made, filterblock_builder_clear};
    use crate::status::Status;
    use filterblock::FilterBlockBuilder;

    #[test]
    fn a_builder_that_has_panicked_refuses_to_finish_until_it_is_cleared() {
        let policy = "blocked:10".parse().expect("a policy");
        let mut builder = Builder::new(Made::Keys(FilterBlockBuilder::new(&policy)), None);
        assert_eq!(builder.notes.add(|| panic!("on purpose")), Status::Panic);
        assert_eq!(builder.notes.add(|| Ok(Status::Ok)), Status::Ok);
        let refused = builder.notes.finish(|| Ok(())).expect_err("incomplete");
        assert_eq!(refused.status, Status::Incomplete);
        assert!(refused.message.contains("panic"), "{}", refused.message);
        assert_eq!(filterblock_builder_clear(Some(&mut builder)), Status::Ok);
        assert!(builder.notes.finish(|| Ok(())).is_ok());
        assert_eq!(builder.notes.finish::<()>(|| panic!("on purpose")).expect_err("a panic").status, Status::Panic);
        assert_eq!(builder.notes.finish(|| Ok(())).expect_err("incomplete").status, Status::Incomplete);
    }
}
