//! A partitioned filter in a file of bytes, and calls that cannot fail.

use crate::material::sized;
use filterblock::partition::{
    PartitionBuildError, PartitionError, PartitionHandle, PartitionLimit, PartitionedFilter, PartitionedFilterBuilder,
    PartitionedRangeFilterBuilder,
};
use filterblock::range::RangePolicy;
use filterblock::{CustomTransform, FilterKind, FilterPolicy, KeyTransform, OpenOptions};
use std::convert::Infallible;

pub type BuildResult<T> = Result<T, PartitionBuildError<Infallible>>;

/// Partitions that were stored one after the other, and their index.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub file: Vec<u8>,
    pub index: Vec<u8>,
}

/// A builder with a file that it stores its partitions in.
pub struct Writer {
    pub builder: PartitionedFilterBuilder,
    pub file: Vec<u8>,
}

impl Writer {
    pub fn new(policy: FilterPolicy, limit: PartitionLimit, context: u64) -> Self {
        let mut builder = PartitionedFilterBuilder::new(&policy, limit).expect("legal");
        builder.set_context(context);
        Self { builder, file: Vec::new() }
    }

    pub fn key(&mut self, key: &[u8]) -> BuildResult<()> {
        self.builder.add_key(key, |block| append(&mut self.file, block))
    }

    pub fn row(&mut self, row: &[u8]) -> BuildResult<()> {
        self.builder.add_row(row, |block| append(&mut self.file, block))
    }

    pub fn pair(&mut self, row: &[u8], column: &[u8]) -> BuildResult<()> {
        self.builder.add_row_column(row, column, |block| append(&mut self.file, block))
    }

    pub fn entry(&mut self, order_key: &[u8], entry: &[u8]) -> BuildResult<()> {
        self.builder.add_entry(order_key, entry, |block| append(&mut self.file, block))
    }

    /// Finishes a table that may have no keys.
    pub fn finish_any(mut self) -> BuildResult<Stored> {
        self.builder.allow_empty();
        self.finish()
    }

    pub fn finish(mut self) -> BuildResult<Stored> {
        let index = self.builder.finish(|block| append(&mut self.file, block))?;
        Ok(Stored { file: self.file, index })
    }
}

/// A partitioned range filter, of keys of which there may be none.
pub fn ranges(
    context: u64,
    policy: RangePolicy,
    limit: PartitionLimit,
    keys: impl IntoIterator<Item = impl AsRef<[u8]>>,
) -> Stored {
    let mut builder = PartitionedRangeFilterBuilder::new(&policy, limit).expect("legal");
    let mut file = Vec::new();
    builder.set_context(context).allow_empty();
    keys.into_iter().for_each(|key| builder.add_key(key.as_ref(), |block| append(&mut file, block)).expect("in order"));
    let index = builder.finish(|block| append(&mut file, block)).expect("an index");
    Stored { file, index }
}

fn append(file: &mut Vec<u8>, block: &[u8]) -> Result<u64, Infallible> {
    let offset = file.len() as u64;
    file.extend_from_slice(block);
    Ok(offset)
}

impl Stored {
    pub fn open(&self, context: u64) -> PartitionedFilter<&[u8]> {
        PartitionedFilter::open(&self.index[..], OpenOptions::new().with_context(context)).expect("a sound index")
    }

    pub fn load(&self, partition: PartitionHandle) -> Result<&[u8], Infallible> {
        Ok(&self.file[partition.offset as usize..][..partition.len as usize])
    }
}

/// The answer of a lookup that does not fail.
pub fn sure(answer: Result<bool, PartitionError<Infallible>>) -> bool {
    answer.expect("sound partitions")
}

/// A policy by which absent keys do not pass in practice.
pub fn exact(transform: KeyTransform) -> FilterPolicy {
    let policy = sized(FilterKind::Bloom, 64.0);
    policy.with_self_check(false).with_seed(5).with_transform(transform)
}

pub fn own_transform() -> KeyTransform {
    KeyTransform::Custom(CustomTransform::new(200, 1).expect("legal"))
}

/// All strings of at most `len` bytes of `alphabet`, in order.
pub fn strings(alphabet: &[u8], len: usize) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut start = 0;
    while start < all.len() {
        if all[start].len() < len {
            let longer: Vec<_> = alphabet.iter().map(|&byte| [&all[start][..], &[byte]].concat()).collect();
            all.extend(longer);
        }
        start += 1;
    }
    all.sort();
    all
}

/// The strings of `all` whose bits are set in `set`.
pub fn subset<T>(all: &[T], set: usize) -> impl Iterator<Item = &T> {
    all.iter().enumerate().filter(move |(i, _)| set >> i & 1 == 1).map(|(_, item)| item)
}

/// A key of four bytes; keys are ordered as the numbers are.
pub fn ordered(number: u32) -> [u8; 4] {
    std::array::from_fn(|i| (number >> (24 - 8 * i)) as u8)
}
