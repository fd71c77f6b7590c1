//! What the readers of blocks and of compact frames have in common, for checks of both.

use filterblock::{CompactFrameReader, EntryHasher, FilterBlock, KeyHash, Query};

macro_rules! reading {
    ($(fn $name:ident(&self $(, $argument:ident: $Type:ty)*) $(-> $Result:ty)?;)*) => {
        pub trait Reading {
            $(fn $name(&self $(, $argument: $Type)*) $(-> $Result)?;)*
        }
        impl<B: AsRef<[u8]>> Reading for FilterBlock<B> {
            $(fn $name(&self $(, $argument: $Type)*) $(-> $Result)? {
                FilterBlock::$name(self $(, $argument)*)
            })*
        }
        impl Reading for CompactFrameReader<'_> {
            $(fn $name(&self $(, $argument: $Type)*) $(-> $Result)? {
                CompactFrameReader::$name(self $(, $argument)*)
            })*
        }
    };
}

reading! {
    fn may_contain(&self, key: &[u8]) -> bool;
    fn may_contain_prefix(&self, key: &[u8]) -> bool;
    fn may_match(&self, query: Query<'_>) -> bool;
    fn may_contain_hash(&self, hash: KeyHash) -> bool;
    fn may_contain_hashes(&self, hashes: &[KeyHash], answers: &mut [bool]);
    fn entry_hasher(&self) -> &EntryHasher;
    fn false_positive_rate(&self) -> f64;
    fn fill(&self) -> f64;
    fn num_probes(&self) -> Option<u32>;
}
