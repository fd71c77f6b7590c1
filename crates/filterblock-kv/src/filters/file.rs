//! Filters of a table that is opened outside a store.

use super::{
    DecodeError, EntryHasher, FilterKind, KeyHasher, KeyTransform, OpenOptions, PartitionHandle, Probe, Purpose,
    StoredFamily, check_places, index_at, loaded::probe_entries, may_match, unpadded_len,
};
use core::fmt;
use filterblock::FilterBlockReader;
use filterblock::partition::{Family, Keys, Partitioned, Ranges};

/// A filter of a table, with what is needed to open it.
#[derive(Debug)]
#[non_exhaustive]
pub struct TableFilter {
    /// The filter's purpose: of [`Purpose::Range`] it is of the family [`Ranges`], of all others [`Keys`].
    pub purpose: Purpose,
    /// The transform of its entries; of ranges, of its keys.
    pub transform: KeyTransform,
    /// The offset of its bytes in the table's file.
    pub offset: u64,
    /// The length of its bytes. For a partitioned filter this includes padding; see [`TablePartitions::unpadded_len`].
    pub len: u64,
    /// The length of a partitioned filter's index, its last bytes; 0 for a filter that is one block.
    pub index_len: u32,
    /// The context that the block, or the index, is bound to.
    pub context: u64,
    /// The hasher of its entries; see [`TableFile::with_hasher`](super::super::TableFile::with_hasher).
    pub hasher: KeyHasher,
    /// The block, or the partitions and their index, unchecked.
    pub bytes: Vec<u8>,
}

impl TableFilter {
    /// Options that check that a block, or an index, belongs here.
    pub fn open_options(&self) -> OpenOptions {
        OpenOptions::new().with_context(self.context).expect(&EntryHasher::new(self.hasher.clone(), self.transform))
    }

    /// Returns whether it is opened by [`open_partitions`](Self::open_partitions), and not by [`open`](Self::open).
    pub fn is_partitioned(&self) -> bool {
        self.index_len > 0
    }

    /// Opens the block with every check.
    ///
    /// # Errors
    /// The error of [`Family::open`], and the error for a partitioned filter, which is not a block.
    pub fn open<F: Family>(&self) -> Result<F::Filter<&[u8]>, DecodeError> {
        F::open(&self.open_options(), &self.bytes[..]).map_err(|error| self.key_needed(error))
    }

    /// Opens the index of a partitioned filter and all partitions, with every check.
    ///
    /// ```
    /// use filterblock::partition::Keys;
    /// use filterblock_kv::{Store, StoreOptions, TableFile};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let store = Store::open_dir(dir.path(), StoreOptions::default().with_partition_bytes(512))?;
    /// for row in 0..2_000u32 {
    ///     store.put(&row.to_be_bytes(), b"column", b"value")?;
    /// }
    /// store.flush()?;
    /// let table = TableFile::open(&dir.path().join(&store.stats().tables[0].file))?;
    /// for filter in table.filters() {
    ///     let filter = filter.open_partitions::<Keys>()?;
    ///     assert!(filter.partitions().len() > 3 && filter.partitions().all(|(_, opened)| opened.is_ok()));
    ///     assert!(filter.false_positive_rate().is_some_and(|rate| rate < 0.02));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Partitioned::open`], for the index; also for a
    /// filter that is one block, which has none. A partition that does not open has an error of its own.
    pub fn open_partitions<F: Family>(&self) -> Result<TablePartitions<'_, F>, DecodeError> {
        TablePartitions::open(&self.bytes, self.index_len, self.open_options()).map_err(|error| self.key_needed(error))
    }

    fn key_needed(&self, error: DecodeError) -> DecodeError {
        match error {
            // Without the key, its id is treated as a seed.
            DecodeError::WrongHash { expected: 1, .. } => DecodeError::KeyNeeded { key_id: self.hasher.seed() },
            other => other,
        }
    }

    /// Opens the filter to probe it for cells; `None` if it does not open.
    pub(crate) fn probe(&self) -> Option<Probe<'_>> {
        if self.purpose == Purpose::Range { self.probe_as::<Ranges>() } else { self.probe_as::<Keys>() }
    }

    fn probe_as<F: StoredFamily>(&self) -> Option<Probe<'_>> {
        let (purpose, transform) = (self.purpose, self.transform);
        if self.is_partitioned() {
            let TablePartitions { index, partitions, .. } = self.open_partitions::<F>().ok()?;
            return Some(Box::new(move |key| {
                probe_entries(purpose, transform, key, |query| {
                    may_match(Some(&index), |number| partitions[number].as_ref().ok(), query)
                })
            }));
        }
        let filter = self.open::<F>().ok()?;
        Some(Box::new(move |key| probe_entries(purpose, transform, key, |query| F::answer(&filter, query))))
    }
}

/// A partitioned filter of a [`TableFile`](super::super::TableFile), opened with every check.
pub struct TablePartitions<'a, F: Family = Keys> {
    index: Partitioned<F, &'a [u8]>,
    index_len: u32,
    partitions: Vec<Result<F::Filter<&'a [u8]>, DecodeError>>,
}

impl<'a, F: Family> TablePartitions<'a, F> {
    /// Opens the filter in `bytes`, whose last `index_len` bytes are its index.
    pub(super) fn open(bytes: &'a [u8], index_len: u32, options: OpenOptions) -> Result<Self, DecodeError> {
        let index_at = index_at(bytes.len() as u64, index_len)?;
        let (before, index) = bytes.split_at(index_at as usize);
        let index = Partitioned::open(index, options)?;
        check_places(&index, index_at)?;
        // They end before the index.
        let open = |p: PartitionHandle| index.open_partition(p, &before[p.offset as usize..][..p.len as usize]);
        let partitions = index.partitions().map(open).collect();
        Ok(Self { index, index_len, partitions })
    }

    /// The index.
    pub fn index(&self) -> &Partitioned<F, &'a [u8]> {
        &self.index
    }

    /// Returns each partition's place, its offset counted from the filter's, and its block, if that passes every check.
    pub fn partitions(
        &self,
    ) -> impl ExactSizeIterator<Item = (PartitionHandle, &Result<F::Filter<&'a [u8]>, DecodeError>)> {
        self.index.partitions().zip(&self.partitions)
    }

    /// Length of the partitions and the index in bytes, without the padding to pages.
    pub fn unpadded_len(&self) -> u64 {
        unpadded_len(&self.index, self.index_len)
    }
}

/// The output is one line, without the bytes.
impl<F: Family> fmt::Debug for TablePartitions<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let num_usable = self.partitions.iter().flatten().count();
        write!(f, "TablePartitions({} partitions, {num_usable} of them usable)", self.partitions.len())
    }
}

impl<'a> TablePartitions<'a> {
    fn usable(&self) -> impl Iterator<Item = &FilterBlockReader<'a>> {
        self.partitions.iter().flatten()
    }

    /// The mean of `value` over the usable partitions, by `weight`.
    fn mean(
        &self,
        value: impl Fn(&FilterBlockReader<'a>) -> f64,
        weight: impl Fn(&FilterBlockReader<'a>) -> u64,
    ) -> Option<f64> {
        let (mut sum, mut weights) = (0.0, 0.0);
        for filter in self.usable() {
            sum += value(filter) * weight(filter) as f64;
            weights += weight(filter) as f64;
        }
        self.usable().next().map(|_| sum / weights.max(1.0))
    }

    /// The kind of its partitions; `None` if none is usable.
    pub fn kind(&self) -> Option<FilterKind> {
        self.usable().next().map(|filter| filter.kind())
    }

    /// The share of absent keys, from 0 to 1, that pass the usable partitions, predicted from their bits and weighted
    /// by their entries; `None` without one.
    pub fn false_positive_rate(&self) -> Option<f64> {
        self.mean(|filter| filter.false_positive_rate(), |filter| filter.num_entries())
    }

    /// The [fill](filterblock::FilterBlock::fill) of the usable partitions, weighted by their lengths; `None` without
    /// one.
    pub fn fill(&self) -> Option<f64> {
        self.mean(|filter| filter.fill(), |filter| filter.as_bytes().len() as u64)
    }
}
