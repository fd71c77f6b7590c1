//! Builders of filters in partitions, which are stored one by one while keys are added.

use crate::border::{required, run};
use crate::builder::Builder;
use crate::counters::Counters;
use crate::policy::Policy;
use crate::status::{Error, Failure, Status};
use core::ffi::c_void;
use core::mem::MaybeUninit;
use filterblock::partition::{PartitionBuildError, PartitionLimit, PartitionedFilterBuilder};
use filterblock::{BuildError, FilterPolicy, KeyTransform};

/// A function of the caller's that stores a partition, the `len` bytes at `block`, writes the offset at which they are to
/// `*offset`, and returns true; false if it cannot. Offsets ascend: every partition is at or after the end of the one
/// before.
pub type StorePartition =
    Option<unsafe extern "C" fn(context: *mut c_void, block: *const c_void, len: usize, offset: *mut u64) -> bool>;

/// The caller's function with its context.
#[derive(Clone, Copy)]
struct Store(StorePartition, *mut c_void);

impl Store {
    fn store(self, block: &[u8]) -> Result<u64, &'static str> {
        let (Self(store, context), mut offset) = (self, 0);
        let (data, len) = (block.as_ptr().cast(), block.len());
        // SAFETY: the function keeps to its documentation (rule 4), with the context that was given with it.
        let is_stored = store.is_some_and(|store| unsafe { store(context, data, len, &raw mut offset) });
        is_stored.then_some(offset).ok_or("the function that stores it has failed")
    }
}

/// The state of a filter in partitions: a builder that is used up by its finish, and the index until it is taken.
pub(crate) struct Partitions {
    policy: FilterPolicy,
    limit: PartitionLimit,
    store: Store,
    builder: Option<PartitionedFilterBuilder>,
    index: Option<Vec<u8>>,
    /// The entries of the index.
    num_finished: u64,
    context: u64,
}

impl Partitions {
    fn new(policy: FilterPolicy, limit: PartitionLimit, store: Store) -> Self {
        let builder = PartitionedFilterBuilder::new(&policy, limit).ok();
        Self { policy, limit, store, builder, index: None, num_finished: 0, context: 0 }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.policy.clone(), self.limit, self.store);
    }

    pub(crate) fn set_context(&mut self, context: u64) -> &mut Self {
        self.builder.as_mut().map(|builder| builder.set_context(context));
        self.context = context;
        self
    }

    pub(crate) fn allow_empty(&mut self) -> &mut Self {
        self.builder.as_mut().map(PartitionedFilterBuilder::allow_empty);
        self
    }

    pub(crate) fn add_key(&mut self, key: &[u8]) -> Result<Status, Failure> {
        let store = self.store;
        let builder = self.builder.as_mut().ok_or_else(finished)?;
        builder.add_key(key, |block| store.store(block))?;
        Ok(Status::Ok)
    }

    pub(crate) fn num_added(&self) -> u64 {
        self.builder.as_ref().map_or(self.num_finished, PartitionedFilterBuilder::num_added)
    }

    pub(crate) fn num_without_entry(&self) -> u64 {
        self.builder.as_ref().map_or(0, PartitionedFilterBuilder::num_without_entry)
    }

    /// Finishes into the memory that `place` has for the index. If it has none, the index is kept for the next call.
    pub(crate) fn finish<M: AsMut<[u8]>>(
        &mut self,
        place: impl FnOnce(usize) -> Result<(M, usize), Failure>,
    ) -> Result<(M, usize), Failure> {
        if let Some(builder) = self.builder.take_if(|_| self.index.is_none()) {
            self.num_finished = builder.num_added();
            let finished = builder.finish(|block| self.store.store(block));
            if let Err(PartitionBuildError::Empty) = finished {
                let context = self.context;
                self.clear();
                self.set_context(context);
            }
            self.index = Some(finished?);
        }
        let index = self.index.as_ref().ok_or_else(finished)?;
        let (mut memory, len) = place(index.len())?;
        memory.as_mut().copy_from_slice(index);
        self.clear();
        Ok((memory, len))
    }
}

/// A call that a builder cannot take after a finish that has failed.
fn finished() -> Failure {
    Failure::new(Status::Incomplete, "a finish has failed: finish again if there was no memory, or clear the builder")
}

impl From<PartitionBuildError<&str>> for Failure {
    fn from(error: PartitionBuildError<&str>) -> Self {
        let message = error.to_string();
        match error {
            PartitionBuildError::Build { error, .. } => Self::new(Self::from(error).status, message),
            PartitionBuildError::Empty => BuildError::Empty.into(),
            _ => Self::new(Status::NotBuilt, message),
        }
    }
}

/// A builder of a filter in partitions, for tables whose filter is too large to be kept in memory, to be used and freed as
/// one of `filterblock_builder_new` is. Keys are added by `filterblock_builder_add_key` in ascending order, or they are
/// `FILTERBLOCK_STATUS_NOT_BUILT`. `store` is called whenever one of them begins a new partition, and at the finish, which
/// gives the index: the engine stores that, too, and opens it by `filterblock_partitioned_reader_open`.
///
/// A partition's block has at most about `partition_len` bytes, 256 to 2^30; 0 stands for 32 KiB. The policy has a size in
/// bits or a rate, none in bytes, and a transform of keys or prefixes. Set the context before the first key. What a builder
/// has stored when it is cleared or freed is the caller's to remove. On an error `*builder` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_partition_builder_new(
    policy: Option<&Policy>,
    partition_len: u64,
    store: StorePartition,
    store_context: *mut c_void,
    counters: Option<&Counters>,
    builder: Option<&mut MaybeUninit<Option<Box<Builder>>>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Status {
    run(error, || {
        let builder = required(builder, "builder")?.write(None);
        let Policy(policy) = required(policy, "policy")?;
        required(store, "store")?;
        let limit = if partition_len == 0 { PartitionLimit::default() } else { PartitionLimit::Bytes(partition_len) };
        let transform = policy.transform();
        if matches!(transform, KeyTransform::Row | KeyTransform::RowColumn | KeyTransform::Custom(_)) {
            let message = std::format!("partitions are of keys or prefixes here, not of the transform {transform}");
            return Err(Failure::new(Status::Setting, message));
        }
        // Whether the policy and the limit are legal.
        PartitionedFilterBuilder::new(policy, limit)?;
        let partitions = Partitions::new(policy.clone(), limit, Store(store, store_context));
        *builder = Some(Box::new(Builder::of_partitions(partitions, counters)));
        Ok(())
    })
}
