//! What callers may do with the public types, which semantic versioning covers though no signature names it: send them
//! to other threads, keep them across a caught panic, print, copy and compare them, and return errors as
//! `Box<dyn Error>`.

use core::fmt::{Debug, Display};
use core::hash::Hash;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::str::FromStr;
use filterblock::partition::{PartitionError, PartitionHandle, PartitionLookup, PartitionedFilter};
use filterblock::sizing::{Dimensions, Formula};
use filterblock::{
    CompactFrameReader, CustomTransform, DecodeError, DecodeErrorClass, EntryHasher, FilterBlock, FilterBlockReader,
    FilterKind, KeyHash, KeyHasher, KeyTransform, OpenError, OpenOptions, ThinError, UnknownKindName,
};
use std::error::Error;
use std::sync::Arc;

fn shared<T: Send + Sync + Unpin + Debug>() {}
fn unwinds<T: UnwindSafe + RefUnwindSafe>() {}
fn value<T: Copy + Debug + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}
fn equal<T: Copy + PartialEq>() {}
fn eq<T: Eq + Hash>() {}
fn text<T: Display + FromStr<Err: Error>>() {}
fn error<
    T: Error + Debug + Display + Clone + PartialEq + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static,
>() {
}

/// `each!(bound: Type, Type)`
macro_rules! each {
    ($bound:ident: $($Type:ty),+ $(,)?) => { $($bound::<$Type>();)+ };
}

#[test]
fn of_the_reader() {
    each!(shared: FilterBlock<Vec<u8>>, FilterBlock<Arc<[u8]>>, CompactFrameReader<'_>, PartitionedFilter<Vec<u8>>);
    each!(unwinds: FilterBlock<Vec<u8>>, FilterBlock<Arc<[u8]>>, CompactFrameReader<'_>, PartitionedFilter<Vec<u8>>);
    each!(value: FilterBlockReader<'static>, CompactFrameReader<'static>, PartitionedFilter<&'static [u8]>);
    each!(value: OpenOptions, EntryHasher, KeyHasher, KeyHash, KeyTransform, CustomTransform, FilterKind);
    each!(value: DecodeErrorClass, PartitionHandle, PartitionLookup, Dimensions, Formula);
    each!(equal: EntryHasher, KeyHasher, PartitionLookup, Dimensions);
    each!(eq: KeyHash, KeyTransform, CustomTransform, FilterKind, DecodeErrorClass, PartitionHandle);
    each!(text: FilterKind);
    each!(error: DecodeError, ThinError, UnknownKindName, OpenError<Vec<u8>>, PartitionError<DecodeError>);
}

#[cfg(feature = "std")]
#[test]
fn of_the_builder() {
    use filterblock::budget::{ElasticFilter, Run, Share};
    use filterblock::partition::{PartitionBuildError, PartitionLimit, PartitionedFilterBuilder};
    use filterblock::{AlignedBytes, BuildError, Choice, CombineError, FilterBlockBuilder, FilterPolicy, FilterSize};
    use filterblock::{KindCost, ParsePolicyError, Workload};

    each!(shared: FilterBlockBuilder, PartitionedFilterBuilder, AlignedBytes, FilterBlock<AlignedBytes>, Choice);
    each!(shared: ElasticFilter);
    each!(unwinds: FilterBlockBuilder, PartitionedFilterBuilder, AlignedBytes, FilterBlock<AlignedBytes>, Choice);
    each!(unwinds: ElasticFilter);
    each!(value: FilterPolicy, FilterSize, Workload, KindCost, PartitionLimit, Run, Share);
    each!(equal: FilterPolicy, FilterSize, Workload, KindCost, PartitionLimit, Run, Share);
    each!(text: FilterPolicy, KeyTransform);
    each!(error: BuildError, CombineError, ParsePolicyError, PartitionBuildError<BuildError>);
}

#[cfg(feature = "ledger")]
#[test]
fn of_the_ledger() {
    use filterblock::ledger::{
        Account, Accounts, BlockCounters, Exposition, FilterFacts, Imbalance, Ledger, LedgerReport, LevelTally, Lookup,
        LookupClass, LookupCounters, Outcome, TableCounters, Tally,
    };

    each!(shared: Account, Accounts, BlockCounters, Exposition, Ledger, LedgerReport, Lookup<'_>, LookupCounters);
    each!(shared: TableCounters);
    each!(unwinds: Account, Accounts, BlockCounters, Exposition, Ledger, LedgerReport, Lookup<'_>, LookupCounters);
    each!(unwinds: TableCounters);
    each!(value: FilterFacts, LevelTally, LookupClass, Outcome, Tally);
    each!(equal: FilterFacts, LevelTally, LookupClass, Tally);
    each!(eq: Outcome);
    each!(error: Imbalance);
}

#[cfg(feature = "kv")]
#[test]
fn of_the_store() {
    use filterblock::kv::{
        Error as StoreError, FileStorage, RebuildOptions, RebuildReport, Scan, Snapshot, Stats, Storage, Store,
        StoreOptions, TableFile, VerifyReport, Warning, WriteBatch,
    };

    each!(shared: Store, Snapshot, StoreOptions, Stats, VerifyReport, WriteBatch, FileStorage, TableFile, StoreError);
    each!(shared: RebuildOptions, RebuildReport, Warning, Arc<dyn Storage>);
    fn sent<T: Send + Debug>() {}
    each!(sent: Scan);
    fn boxed<T: Error + Clone + Send + Sync + 'static>() {}
    each!(boxed: StoreError);
}
