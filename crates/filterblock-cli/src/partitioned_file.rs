//! Files that hold one partitioned filter: its partitions, at offsets that count from the file's first byte, and after
//! them its index, with which the file ends.

use crate::answers::row_and_column;
use crate::block_file::{self, BUILD_AGAIN, MAX_UNVOUCHED_BYTES, stated_len};
use crate::exit::{Code, Failure};
use crate::open_args::Expected;
use filterblock::partition::{INDEX_MAGIC, PartitionHandle, PartitionedFilter};
use filterblock::{BlockKind, DecodeError, FilterBlockReader, HEADER_LEN, KeyHash, KeyTransform, MAGIC, Query};
use std::fs;
use std::path::Path;

/// The file's bytes, if it ends with an index and begins with it or with a block that is shorter than the file. Those of
/// a range filter are refused.
pub(crate) fn read(path: &Path) -> Option<Result<Vec<u8>, Failure>> {
    fs::metadata(path).ok().filter(|metadata| metadata.is_file() && metadata.len() <= MAX_UNVOUCHED_BYTES)?;
    let bytes = fs::read(path).ok()?;
    if block_file::tag(&bytes[index_at(&bytes)?..]) == Some(BlockKind::Ranges.tag()) {
        let what = "a range filter in partitions. This tool reads none, and has checked nothing; the library does";
        return Some(Err(Failure::new(Code::Usage, format!("{}: {what}.", path.display()))));
    }
    Some(Ok(bytes))
}

fn index_at(bytes: &[u8]) -> Option<usize> {
    let last_start = bytes.len().checked_sub(HEADER_LEN)?;
    let states_its_end = |at: usize| stated_len(&bytes[at..]) == (last_start - at) as u64;
    let is_one_block = bytes.starts_with(&MAGIC) && states_its_end(0);
    let is_index = |&at: &usize| bytes[at..].starts_with(&INDEX_MAGIC) && states_its_end(at);
    if is_one_block { None } else { (0..=last_start).find(is_index) }
}

pub(crate) struct Partitioned<'a> {
    pub(crate) index: PartitionedFilter<&'a [u8]>,
    bytes: &'a [u8],
}

/// Opens the index, and the first partition that opens: what holds for one holds for the others. `None` if the file is
/// a block.
pub(crate) fn open<'a>(
    path: &Path,
    bytes: &'a [u8],
    expected: &Expected,
) -> Option<Result<(FilterBlockReader<'a>, Partitioned<'a>), Failure>> {
    let at = index_at(bytes)?;
    let path_shown = path.display();
    let refused = |error: DecodeError| {
        let consequence = block_file::consequence(path, &MAGIC, &error, expected);
        Failure::damaged(format!("{path_shown}: index of partitions at offset {at}: {error}. {consequence}"))
    };
    let opened = PartitionedFilter::open(&bytes[at..], expected.options()).map_err(refused);
    Some(opened.and_then(|index| {
        let filter = Partitioned { index, bytes: &bytes[..at] };
        let none = format!("{path_shown}: its index has no partitions: there are no entries, and every key is absent.");
        let first = filter.index.partitions().map(|at| filter.open_partition(at)).reduce(Result::or);
        let first = first.ok_or_else(|| Failure::new(Code::Usage, none))?.map_err(refused)?;
        Ok((first, filter))
    }))
}

impl<'a> Partitioned<'a> {
    fn open_partition(&self, at: PartitionHandle) -> Result<FilterBlockReader<'a>, DecodeError> {
        self.index.open_partition(at, self.stored(at))
    }

    /// The stored bytes of a partition. Where some are missing, they are not a block.
    fn stored(&self, at: PartitionHandle) -> &'a [u8] {
        let start = self.bytes.len().min(usize::try_from(at.offset).unwrap_or(usize::MAX));
        &self.bytes[start..][..(at.len as usize).min(self.bytes.len() - start)]
    }

    /// The answer for the entry of a line, which has this hash: *maybe* where its partition does not open.
    pub(crate) fn may_contain(&self, line: &[u8], hash: KeyHash) -> bool {
        let query = match (self.index.entry_hasher().transform(), row_and_column(line)) {
            (KeyTransform::RowColumn, Some((row, column))) => Query::Cell(row, column),
            (KeyTransform::Row, _) => Query::Row(line),
            _ => Query::Key(line),
        };
        self.answer(query, |block| block.may_contain_hash(hash))
    }

    /// The answer for the keys with a prefix; *maybe* where their partition does not open.
    pub(crate) fn may_contain_prefix(&self, prefix: &[u8]) -> bool {
        self.answer(Query::Prefix(prefix), |block| block.may_contain_prefix(prefix))
    }

    fn answer(&self, query: Query<'_>, of_block: impl Fn(&FilterBlockReader<'_>) -> bool) -> bool {
        let found = self.index.find(query);
        let mut opened = found.partitions().map(|at| self.open_partition(at));
        found.answer().unwrap_or_else(|| opened.any(|block| block.map_or(true, |block| of_block(&block))))
    }

    /// The partitions that do not open.
    pub(crate) fn failures(&self, path: &Path) -> Vec<Failure> {
        let failure = |at: PartitionHandle| {
            let failed = block_file::what_failed(path, at.offset, self.stored(at), &self.open_partition(at).err()?);
            Some(Failure::damaged(format!(
                "{failed}. Partition {} ignored: lookups of its keys stay correct but slower. {BUILD_AGAIN}",
                at.number
            )))
        };
        self.index.partitions().filter_map(failure).collect()
    }
}
