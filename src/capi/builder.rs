//! Builders: what is added to them. `finish` has what comes out.

use super::border::{caught, required, required_bytes};
use super::counters::{Counters, Counts};
use super::policy::Policy;
use super::status::{Failure, Status};
use crate::{FilterBlockBuilder, KeyHash};
use core::ffi::c_void;
use core::ptr;
use std::boxed::Box;
use std::sync::Arc;

/// Turns the keys of one table into one filter: `new (add* finish)* free`. Keeps 8 bytes an entry.
pub struct Builder {
    pub(super) builder: FilterBlockBuilder,
    /// Why a key may be missing.
    pub(super) incomplete: Option<Status>,
    pub(super) counts: Option<Arc<Counts>>,
}

impl Builder {
    pub(super) fn new(policy: &Policy) -> Self {
        Self { builder: FilterBlockBuilder::new(policy.0), incomplete: None, counts: None }
    }

    /// Adds by `add`, at most two entries. After a failure the builder refuses to finish: a filter without the key
    /// would deny it.
    pub(super) fn add(&mut self, add: impl FnOnce(&mut FilterBlockBuilder) -> Result<(), Failure>) -> Status {
        let added = caught(|| {
            self.builder.try_reserve(2)?;
            add(&mut self.builder)
        });
        match added {
            Ok(()) => Status::Ok,
            Err(failure) => {
                self.incomplete = Some(failure.status);
                failure.status
            }
        }
    }
}

/// Adds by `add` to a builder.
fn add(builder: Option<&mut Builder>, add: impl FnOnce(&mut FilterBlockBuilder) -> Result<(), Failure>) -> Status {
    builder.map_or(Status::Argument, |builder| builder.add(add))
}

/// An empty builder, to be freed by `filterblock_builder_free`; null of a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_new(policy: Option<&Policy>) -> *mut Builder {
    policy.map_or(ptr::null_mut(), |policy| Box::into_raw(Box::new(Builder::new(policy))))
}

/// Frees a builder. A null pointer is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_free(builder: *mut Builder) {
    if !builder.is_null() {
        // SAFETY: from `Box::into_raw`, and not freed before, by rule 1 of the interface.
        drop(unsafe { Box::from_raw(builder) });
    }
}

/// Forgets what was added, and the context: for a builder that has refused to finish, or a table that is given up.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_clear(builder: Option<&mut Builder>) -> Status {
    let Some(builder) = builder else { return Status::Argument };
    builder.builder.clear();
    builder.incomplete = None;
    Status::Ok
}

/// Binds the next block to `context`, say a file's number mixed with the block's offset: a reader must name the same
/// one. It holds until the next finish that succeeds.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_set_context(builder: Option<&mut Builder>, context: u64) -> Status {
    let Some(builder) = builder else { return Status::Argument };
    builder.builder.context(context);
    Status::Ok
}

/// Whether large blocks are built on all cores, by a library with the feature `rayon`. The bytes are the same.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_set_parallel(builder: Option<&mut Builder>, parallel: bool) -> Status {
    let Some(builder) = builder else { return Status::Argument };
    builder.builder.parallel(parallel);
    Status::Ok
}

/// Counts in `counters` what the builder finishes and what it cannot; of a null pointer, no longer. The builder keeps
/// the counters alive.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_count_in(builder: Option<&mut Builder>, counters: Option<&Counters>) -> Status {
    let Some(builder) = builder else { return Status::Argument };
    builder.counts = counters.map(|counters| Arc::clone(&counters.0));
    Status::Ok
}

/// Makes room for `num_entries` more entries.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_reserve(builder: Option<&mut Builder>, num_entries: usize) -> Status {
    let reserved = caught(|| Ok(required(builder, "builder")?.builder.try_reserve(num_entries)?));
    reserved.map_or_else(|failure| failure.status, |()| Status::Ok)
}

/// Adds a key that is one byte string. The policy's transform is applied. After an error the builder refuses to finish.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_add_key(
    builder: Option<&mut Builder>,
    key: *const c_void,
    key_len: usize,
) -> Status {
    add(builder, |builder| {
        // SAFETY: rule 1 of the interface.
        builder.add_key(unsafe { required_bytes(key, key_len, "key") }?);
        Ok(())
    })
}

/// Adds a row, for a filter of rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_add_row(
    builder: Option<&mut Builder>,
    row: *const c_void,
    row_len: usize,
) -> Status {
    add(builder, |builder| {
        // SAFETY: rule 1 of the interface.
        builder.add_row(unsafe { required_bytes(row, row_len, "row") }?);
        Ok(())
    })
}

/// Adds a key that consists of a row and a column, for a filter of rows, or of rows with columns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_add_row_column(
    builder: Option<&mut Builder>,
    row: *const c_void,
    row_len: usize,
    column: *const c_void,
    column_len: usize,
) -> Status {
    add(builder, |builder| {
        // SAFETY: rule 1 of the interface.
        let (row, column) =
            unsafe { (required_bytes(row, row_len, "row")?, required_bytes(column, column_len, "column")?) };
        builder.add_row_column(row, column);
        Ok(())
    })
}

/// Adds an entry: what the policy's transform makes of a key, for engines that apply it themselves.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_builder_add_entry(
    builder: Option<&mut Builder>,
    entry: *const c_void,
    entry_len: usize,
) -> Status {
    add(builder, |builder| {
        // SAFETY: rule 1 of the interface.
        builder.add_entry(unsafe { required_bytes(entry, entry_len, "entry") }?);
        Ok(())
    })
}

/// Adds an entry by its hash under the policy's seed or secret key. Nothing checks this: where it is not so, the filter
/// denies keys that are stored.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_add_hash(builder: Option<&mut Builder>, hash: u64) -> Status {
    add(builder, |builder| {
        builder.add_hash(KeyHash::from_raw(hash));
        Ok(())
    })
}

/// Entries added since the last finish; of neighbours that are equal, one is counted. 0 of a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_num_added(builder: Option<&Builder>) -> u64 {
    builder.map_or(0, |builder| builder.builder.num_added())
}

/// Keys given since the last finish that have no entry under the policy's transform, and are *maybe*. 0 of a null
/// pointer.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_builder_num_without_entry(builder: Option<&Builder>) -> u64 {
    builder.map_or(0, |builder| builder.builder.num_without_entry())
}

#[cfg(test)]
mod tests {
    use super::{Builder, Policy, filterblock_builder_clear};
    use crate::capi::status::Status;

    #[test]
    fn a_builder_that_has_panicked_refuses_to_finish_until_it_is_cleared() {
        let mut builder = Builder::new(&Policy("blocked:10".parse().expect("a policy")));
        assert_eq!(builder.add(|_| panic!("on purpose")), Status::Panic);
        let refused = builder.finish(|_| Ok(())).expect_err("incomplete");
        assert_eq!(refused.status, Status::Incomplete);
        assert!(refused.message.contains("panic"), "{}", refused.message);
        assert_eq!(filterblock_builder_clear(Some(&mut builder)), Status::Ok);
        assert!(builder.finish(|_| Ok(())).is_ok());
        assert_eq!(builder.finish::<()>(|_| panic!("on purpose")).expect_err("a panic").status, Status::Panic);
        assert_eq!(builder.finish(|_| Ok(())).expect_err("incomplete").status, Status::Incomplete);
    }
}
