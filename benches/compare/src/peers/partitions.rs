//! filterblock's filters in partitions, as large tables have them: a search in the index, then one block.

use super::filterblock::{Buffer, policy};
use crate::keys::Key;
use crate::peer::{Caller, Filter, Peer, Size, apart, query_each};
use ::filterblock::partition::{Lookup, PartitionLimit, PartitionedFilter, PartitionedFilterBuilder};
use ::filterblock::{FilterBlock, FilterKind, FilterPolicy, OpenOptions, Query};
use anyhow::Result;
use std::convert::Infallible;

pub const PARTITION_KEYS: usize = 8_000;

/// All partitions are in memory, opened.
struct Partitions {
    index: PartitionedFilter<Vec<u8>>,
    blocks: Vec<FilterBlock<Buffer>>,
}

fn build(policy: &FilterPolicy, keys: &[Key]) -> Result<Partitions> {
    let (mut blocks, mut len) = (Vec::new(), 0);
    let mut store = |block: &[u8]| {
        let offset = len;
        len += block.len() as u64;
        blocks.push(Buffer::copy_of(block));
        Ok::<_, Infallible>(offset)
    };
    let mut builder = PartitionedFilterBuilder::new(policy, PartitionLimit::Entries(PARTITION_KEYS as u64))?;
    keys.iter().try_for_each(|key| builder.add_key(key, &mut store))?;
    let index = builder.finish(&mut store)?;
    let index = PartitionedFilter::open(index, OpenOptions::new().with_digest_check(false).expect(policy))?;
    let open = |(partition, block)| index.partition_options(partition).open_owned(block);
    let blocks = index.partitions().zip(blocks).map(open).collect::<Result<_, _>>()?;
    Ok(Partitions { index, blocks })
}

impl Filter for Partitions {
    fn num_bytes(&self) -> usize {
        self.index.as_bytes().len() + self.blocks.iter().map(Filter::num_bytes).sum::<usize>()
    }

    fn query(&self, keys: &[Key], caller: Caller) -> usize {
        query_each(keys, caller, |key| match apart(self).index.find(Query::Key(key)) {
            Lookup::Partitions(partition, _) => self.blocks[partition.number as usize].may_contain(key),
            Lookup::Absent => false,
            _ => true,
        })
    }
}

/// Each kind, at the size of one of its other rows.
pub fn peers() -> Vec<Peer> {
    let kinds = [
        (FilterKind::Bloom, "bloom, partitions", Size::Bits(10)),
        (FilterKind::Blocked, "blocked, partitions", Size::Bits(10)),
        (FilterKind::Golomb, "golomb, partitions", Size::Percent(1.0)),
        (FilterKind::Ribbon, "ribbon, partitions", Size::Percent(1.0)),
        (FilterKind::Fuse, "fuse, partitions", Size::Percent(0.4)),
    ];
    let peer = |(filter_kind, kind, size)| {
        let policy = policy(filter_kind, size);
        let build = move |keys: &[Key]| Ok(Box::new(build(&policy, keys)?) as Box<dyn Filter>);
        Peer { name: "filterblock", kind, size, build: Box::new(build) }
    };
    kinds.map(peer).into()
}
