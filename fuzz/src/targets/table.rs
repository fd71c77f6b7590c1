use super::Reached;
use crate::pages::inflate;
use crate::records::{Edit, manifest};
use crate::sample::{Files, options, sample};
use crate::sstable::{Forgery, Parts, added, footer_crc, forge, is_forged};
use crate::store::{all, ask, check_error, go_on, is_ascending, open, successor};
use filterblock::Query;
use filterblock::partition::{Keys, Ranges};
use filterblock_kv::{Purpose, TableFile};
use std::ops::Bound::{self, Excluded, Included, Unbounded};

/// Any bytes as a table. The input's first byte states what becomes of the pages after it:
///
/// | bits | |
/// |---|---|
/// | 0 | 0: they replace a table of the sample store, as they are; 1: their checksums are repaired, and a manifest that knows them is written |
/// | 1 | not repaired: which table; repaired: the filters' checksums are left as they are |
/// | 2 | repaired: the data blocks' checksums are left as they are |
/// | 3 | repaired: the index's checksum is left as it is |
/// | 4 | repaired: lengths are not repaired |
/// | 5, 6 | repaired: the level, 0, 1, 6 or one that is not |
/// | 7 | the store is written to, closed, opened again and compacted |
pub fn table(input: &[u8]) -> Reached {
    let Some((&mode, pages)) = input.split_first() else { return Reached::Nothing };
    let mut file = inflate(pages);
    let goes_on = mode >> 7 == 1;
    match mode & 1 {
        0 => damaged(mode >> 1 & 1 == 0, file, goes_on),
        _ => {
            let is_left = |bit: u8| mode >> bit & 1 == 1;
            let (filters, data, index, lens) = (!is_left(1), !is_left(2), !is_left(3), !is_left(4));
            forge(&mut file, Forgery { data, index, filters, lens });
            forged([0, 1, 6, 7][usize::from(mode >> 5 & 3)], file, goes_on)
        }
    }
}

/// A table that the manifest knows as it was: every answer is right, or a typed error.
fn damaged(is_deep: bool, file: Vec<u8>, goes_on: bool) -> Reached {
    let sample = sample();
    let number = if is_deep { sample.deep.number } else { sample.shallow.number };
    let name = format!("{number:06}.sst");
    let original = &sample.files[&name];
    open_file(&file);
    if file.len() != original.len() || footer_crc(&file) != footer_crc(original) {
        let mut files = sample.files.clone();
        files.insert(name, file);
        assert!(open(&files, options()).is_none(), "a table that the manifest does not know");
        return Reached::Refused;
    }
    if is_forged(original, &file) {
        return Reached::Nothing;
    }
    let mut files = sample.files.clone();
    files.insert(name, file);
    let Some(opened) = open(&files, options()) else { return Reached::Refused };
    if sample.state.ask(&opened.store).errors > 0 {
        return Reached::Opened;
    }
    if goes_on {
        go_on(opened, sample.state.all().to_vec(), true);
    }
    Reached::Compared
}

/// A table that the manifest knows as it is.
fn forged(level: u64, file: Vec<u8>, goes_on: bool) -> Reached {
    let number = Parts::of(&file).map_or(0, |parts| parts.number).clamp(1, 999_999);
    let edits = [Edit::Seed(5), Edit::NextNumber(number + 1), Edit::LastSeq(0), added(number, level, &file, 0)];
    // What holds of the table by itself.
    let checked = open_file(&file);
    let mut files = Files::from([("MANIFEST".to_owned(), manifest(&edits))]);
    files.insert(format!("{number:06}.sst"), file);
    let Some(opened) = open(&files, options()) else { return Reached::Refused };
    let Ok(cells) = all(&opened.store) else {
        ask(&opened.store, &[], false);
        return Reached::Opened;
    };
    let is_consistent = checked == Some(true);
    assert!(!is_consistent || is_ascending(&cells), "{cells:?}");
    ask(&opened.store, &cells, is_consistent);
    if goes_on {
        go_on(opened, cells, is_consistent);
    }
    if is_consistent { Reached::Compared } else { Reached::Opened }
}

/// Opens the file by itself. Whether every check passes, if it opens.
fn open_file(file: &[u8]) -> Option<bool> {
    let on_disk = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(on_disk.path(), file).expect("a file");
    let table = TableFile::open(on_disk.path()).inspect_err(check_error).ok()?;
    assert!(table.filters().len() + table.num_unknown_filters() <= 8);
    assert!(table.num_blocks() <= file.len() as u64 && table.data_len() <= file.len() as u64);
    assert!(table.key_range().is_none_or(|keys| keys.start() <= keys.end()));
    for filter in table.filters() {
        let error = match filter.purpose {
            Purpose::Range => filter.open::<Ranges>().err(),
            _ => filter.open::<Keys>().err(),
        };
        if let Some(error) = error {
            assert!(!table.warning(filter, error).to_string().is_empty());
        }
    }
    let check = match table.check() {
        Ok(check) => check,
        Err(error) => {
            check_error(&error);
            return Some(false);
        }
    };
    assert_eq!((check.num_cells, check.num_tombstones), (table.num_cells(), table.num_tombstones()));
    let missing = [check.missing_in_row_filter, check.missing_in_row_column_filter, check.missing_in_prefix_filter];
    Some(missing == [0; 3] && check.missing_in_range_filter == 0 && !denies_a_range(&table))
}

/// Returns whether the range filter denies a range with a row of the table, among those that will be scanned. A forged
/// one may, even if it passes each row.
fn denies_a_range(table: &TableFile) -> bool {
    let of_range = table.filters().iter().rfind(|filter| filter.purpose == Purpose::Range);
    let Some(filter) = of_range else { return false };
    let (whole, partitions) = (filter.open::<Ranges>(), filter.open_partitions::<Ranges>());
    assert!(whole.is_err() || partitions.is_err(), "a block and an index");
    let may_contain = |lower: Bound<&[u8]>, upper: Bound<&[u8]>| match (&whole, &partitions) {
        (Ok(filter), _) => filter.may_contain_range(lower, upper),
        (_, Ok(filter)) => {
            let found = filter.index().find(Query::Range(lower, upper));
            found.answer().unwrap_or_else(|| {
                found.partitions().any(|partition| {
                    let (_, opened) = filter.partitions().nth(partition.number as usize).expect("in the index");
                    opened.as_ref().map_or(true, |filter| filter.may_contain_range(lower, upper))
                })
            })
        }
        _ => true,
    };
    let rows: Vec<Vec<u8>> = table.cells(Unbounded, Unbounded).flatten().map(|cell| cell.row).collect();
    let denied = |row: &Vec<u8>| {
        let (beside, prefix) = ([&row[..], b"\0"].concat(), &row[..row.len().min(2)]);
        let above = successor(prefix);
        let above = above.as_ref().map_or(Unbounded, |above| Excluded(&above[..]));
        !may_contain(Included(row), Included(&beside)) || !may_contain(Included(prefix), above)
    };
    rows.iter().any(denied) || !(rows.is_empty() || may_contain(Unbounded, Unbounded))
}
