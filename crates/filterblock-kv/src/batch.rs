//! Writes that happen together or not at all, in memory and in the write-ahead log.
//!
//! A record of the log is a batch: sequence number of its first write (8), number of writes (4), then the writes, each
//! with the next sequence number: kind (1: 0 deletes, 1 puts), lengths of row (2), column (2) and value (4), row,
//! column, value.

use super::cell::{CellKey, CellRef, MAX_VALUE_LEN, check_len};
use super::encoding::{Cursor, Push};
use super::error::Error;

const DELETE: u8 = 0;
const PUT: u8 = 1;
const HEADER_LEN: usize = 8 + 4;
/// The largest batch in bytes: lengths of records are 32-bit on disk, and a batch is one record.
pub const MAX_BATCH_LEN: usize = 1 << 30;

/// Writes that become visible together, and durable together or not at all.
///
/// ```
/// use filterblock_kv::{Store, StoreOptions, WriteBatch};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let store = Store::open_dir(dir.path(), StoreOptions::default())?;
/// let mut transfer = WriteBatch::new();
/// transfer.put(b"alice", b"balance", b"40")?;
/// transfer.put(b"bob", b"balance", b"60")?;
/// transfer.delete(b"bob", b"overdraft")?;
/// store.write(transfer)?;
/// assert_eq!(store.get(b"bob", b"balance")?.as_deref(), Some(&b"60"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct WriteBatch {
    /// The record. Its header is zero until [`WriteBatch::record`] fills it in.
    record: Vec<u8>,
    num_writes: u32,
}

impl WriteBatch {
    /// No writes.
    #[must_use]
    pub fn new() -> Self {
        Self { record: vec![0; HEADER_LEN], num_writes: 0 }
    }

    /// Adds a write of a cell. The last of several writes to a cell in a batch counts.
    ///
    /// # Errors
    /// [`Error::TooLong`] for a part above its limit, or a batch above [`MAX_BATCH_LEN`]; the batch is then unchanged.
    pub fn put(&mut self, row: &[u8], column: &[u8], value: &[u8]) -> Result<&mut Self, Error> {
        check_len("value", value.len(), MAX_VALUE_LEN)?;
        self.push(PUT, CellKey { row, column }, value)
    }

    /// Adds the deletion of a cell, whether it exists or not.
    ///
    /// # Errors
    /// As [`WriteBatch::put`].
    pub fn delete(&mut self, row: &[u8], column: &[u8]) -> Result<&mut Self, Error> {
        self.push(DELETE, CellKey { row, column }, b"")
    }

    fn push(&mut self, kind: u8, key: CellKey<'_>, value: &[u8]) -> Result<&mut Self, Error> {
        key.check_len()?;
        let len = self.record.len() + 1 + 2 + 2 + 4 + key.row.len() + key.column.len() + value.len();
        check_len("batch", len, MAX_BATCH_LEN)?;
        self.record.reserve(len - self.record.len());
        self.record.push(kind);
        self.record.push_u16(key.row.len() as u16);
        self.record.push_u16(key.column.len() as u16);
        self.record.push_u32(value.len() as u32);
        self.record.extend_from_slice(key.row);
        self.record.extend_from_slice(key.column);
        self.record.extend_from_slice(value);
        self.num_writes += 1;
        Ok(self)
    }

    /// Number of writes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.num_writes as usize
    }

    /// Returns whether the batch has no writes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.num_writes == 0
    }

    /// The record, whose first write gets the sequence number `first_seq`.
    pub(crate) fn record(&mut self, first_seq: u64) -> &[u8] {
        crate::bytes::put_u64(&mut self.record, 0, first_seq);
        crate::bytes::put_u32(&mut self.record, 8, self.num_writes);
        &self.record
    }
}

impl Default for WriteBatch {
    fn default() -> Self {
        Self::new()
    }
}

/// The writes of a record; `None` if it is not what [`WriteBatch::record`] makes.
pub(crate) fn decode(record: &[u8]) -> Option<impl Iterator<Item = CellRef<'_>>> {
    let mut cursor = Cursor::new(record);
    let (first_seq, num_writes) = (cursor.u64()?, cursor.u32()?);
    // Checked before any write is returned: a record with a bad end must have no effect at all.
    let mut check = cursor;
    for _ in 0..num_writes {
        next_write(&mut check, 0)?;
    }
    check.is_at_end().then_some(())?;
    first_seq.checked_add(u64::from(num_writes))?;
    Some((0..num_writes).map_while(move |i| next_write(&mut cursor, first_seq + u64::from(i))))
}

fn next_write<'a>(cursor: &mut Cursor<'a>, seq: u64) -> Option<CellRef<'a>> {
    let kind = cursor.u8()?;
    let (row_len, column_len, value_len) = (cursor.u16()?, cursor.u16()?, cursor.u32()?);
    let key = CellKey { row: cursor.take(row_len.into())?, column: cursor.take(column_len.into())? };
    let value = cursor.take(value_len as usize)?;
    match kind {
        PUT => Some(CellRef { key, seq, value: Some(value) }),
        DELETE if value.is_empty() => Some(CellRef { key, seq, value: None }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{CellKey, CellRef, WriteBatch, decode};

    #[test]
    fn a_record_returns_its_writes_and_no_part_of_it_does() {
        let mut batch = WriteBatch::new();
        batch.put(b"row", b"column", b"value").unwrap().delete(b"", b"").unwrap().put(b"\xff", b"", b"").unwrap();
        let record = batch.record(9).to_vec();
        let key = |row, column| CellKey { row, column };
        let expected = [
            CellRef { key: key(b"row", b"column"), seq: 9, value: Some(b"value") },
            CellRef { key: key(b"", b""), seq: 10, value: None },
            CellRef { key: key(b"\xff", b""), seq: 11, value: Some(b"") },
        ];
        assert_eq!(decode(&record).unwrap().collect::<Vec<_>>(), expected);
        for len in 0..record.len() {
            assert!(decode(&record[..len]).is_none(), "{len}");
        }
        assert!(decode(&[&record[..], b"\0"].concat()).is_none());
        assert!(decode(batch.record(u64::MAX)).is_none(), "sequence numbers must not wrap");
    }
}
