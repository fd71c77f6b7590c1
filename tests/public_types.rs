//! What callers may do with the public types, which semantic versioning covers though no signature names it: send them
//! to other threads, keep them across a caught panic, print, copy and compare them, and return errors as
//! `Box<dyn Error>`.

use core::fmt::{Debug, Display};
use core::hash::Hash;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::str::FromStr;
use filterblock::partition::PartitionedRangeFilter;
use filterblock::partition::{Lookup, OpenedPartition, PartitionError, PartitionHandle, PartitionedFilter};
use filterblock::range::{RangeFilter, RangeForm};
use filterblock::{
    CompactFrameReader, CustomTransform, DecodeError, DecodeErrorClass, EntryHasher, FilterBlock, FilterBlockReader,
    FilterKind, KeyHash, KeyHasher, KeyTransform, NotIntegers, OpenOptions, Query, ThinError, TransformId,
    UnknownKindName,
};
use std::error::Error;
use std::sync::Arc;

fn shared<T: Send + Sync + Unpin + Debug>() {}
fn unwinds<T: UnwindSafe + RefUnwindSafe>() {}
fn value<T: Copy + Debug + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}
/// A value that may hold a secret key.
fn cloned<T: Clone + Debug + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}
fn equal<T: PartialEq>() {}
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
    each!(shared: OpenedPartition<FilterBlock<Vec<u8>>>);
    each!(unwinds: OpenedPartition<FilterBlock<Vec<u8>>>);
    each!(cloned: FilterBlockReader<'static>, PartitionedFilter<&'static [u8]>, OpenOptions, EntryHasher, KeyHasher);
    each!(value: CompactFrameReader<'static>, KeyHash, KeyTransform, CustomTransform, TransformId, FilterKind);
    each!(value: DecodeErrorClass, PartitionHandle, Lookup);
    each!(equal: Lookup);
    each!(shared: RangeFilter<Vec<u8>>, PartitionedRangeFilter<Vec<u8>>);
    each!(unwinds: RangeFilter<Vec<u8>>, PartitionedRangeFilter<Vec<u8>>);
    each!(cloned: RangeFilter<&'static [u8]>, PartitionedRangeFilter<&'static [u8]>);
    each!(value: RangeForm, NotIntegers, Query<'static>);
    each!(eq: Query<'static>);
    each!(eq: RangeForm, KeyHash, KeyTransform, CustomTransform, FilterKind, DecodeErrorClass, PartitionHandle);
    each!(text: FilterKind);
    each!(error: DecodeError, ThinError, UnknownKindName, PartitionError<DecodeError>);
}

#[cfg(feature = "std")]
#[test]
fn of_the_builder() {
    use filterblock::partition::{PartitionBuildError, PartitionLimit, PartitionedFilterBuilder};
    use filterblock::{AlignedBytes, BuildError, Choice, CombineError, FilterBlockBuilder, FilterPolicy, FilterSize};
    use filterblock::{KindCost, ParsePolicyError, Workload};

    use filterblock::partition::PartitionedRangeFilterBuilder;
    use filterblock::range::{RangeFilterBuilder, RangePolicy};
    each!(shared: RangeFilterBuilder, PartitionedRangeFilterBuilder);
    each!(unwinds: RangeFilterBuilder, PartitionedRangeFilterBuilder);
    each!(value: RangePolicy);
    each!(text: RangePolicy);

    each!(shared: FilterBlockBuilder, PartitionedFilterBuilder, AlignedBytes, FilterBlock<AlignedBytes>, Choice);
    each!(unwinds: FilterBlockBuilder, PartitionedFilterBuilder, AlignedBytes, FilterBlock<AlignedBytes>, Choice);
    each!(cloned: FilterPolicy);
    each!(value: FilterSize, Workload, KindCost, PartitionLimit);
    each!(equal: FilterPolicy, FilterSize, Workload, KindCost, PartitionLimit);
    each!(text: FilterPolicy, KeyTransform);
    each!(error: BuildError, CombineError, ParsePolicyError, PartitionBuildError<BuildError>);
}
