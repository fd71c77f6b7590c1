//! A group as the index states it: which bytes are a page's, and whether they are those that its writer wrote.

use crate::bytes;
use crate::footer::{check_range, check_reserved, range_error};
use crate::format::{mix, xxh3};
use crate::table::{Shape, Table};
use filterblock::{DecodeError, KeyHasher};
use std::ops::Range;
use std::sync::Arc;

/// A column: its name, and the number of the class of its values, which a later version may have defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: Box<[u8]>,
    pub(crate) class: u8,
    /// The digest of the name, of which the context of each group is made: a name may be as long as the index.
    pub(crate) digest: u64,
}

impl Column {
    pub(crate) fn new(name: Box<[u8]>, class: u8) -> Self {
        Self { digest: xxh3(&name), name, class }
    }
}

/// What the index states of a group, beside its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where the group begins.
    pub offset: u64,
    /// Its rows.
    pub table: Table,
    /// The number of pages of a unit: what is fetched and checked at once.
    pub unit_pages: u32,
    /// The number of files, at most [`Record::MAX_LANES`].
    pub num_lanes: u32,
    /// The number of the column.
    pub column: u16,
}

/// The bytes of a unit's check, which follows its payload.
pub(crate) const CHECK_LEN: u64 = 8;

impl Record {
    /// The length of a record in the index.
    pub const LEN: usize = 28;
    /// The greatest number of files of a group.
    pub const MAX_LANES: u32 = 1 << 24;
    /// The greatest length of a unit's payload.
    pub const MAX_PAYLOAD_LEN: u64 = 1 << 31;
    /// The greatest length of a group, of whose units all are as long as the first.
    pub const MAX_LEN: u64 = 1 << 48;
    /// The length of a payload, in bytes, that a writer's units have at least, if the part has as many pages.
    const MIN_PAYLOAD_LEN: u64 = 1024;

    /// Returns the record of a group that begins at `offset`; `None` if a unit of one page is longer than
    /// [`MAX_PAYLOAD_LEN`](Self::MAX_PAYLOAD_LEN), or the lanes are too many.
    pub fn new(offset: u64, column: u16, table: Table, num_lanes: u32) -> Option<Self> {
        let mut record = Self { offset, table, unit_pages: 1, num_lanes, column };
        let page_bits = record.payload_bits(1);
        let unit_pages = (Self::MIN_PAYLOAD_LEN * 8).div_ceil(page_bits.max(1));
        record.unit_pages = unit_pages.min(table.num_pages.into()) as u32;
        record.check().is_ok().then_some(record)
    }

    /// Decodes a record. The caller checks `column`, and that the group lies within the set.
    ///
    /// # Errors
    /// [`DecodeError::Reserved`], [`DecodeError::Parameter`].
    pub fn decode(record: &[u8; Self::LEN]) -> Result<Self, DecodeError> {
        check_reserved(record, 25..Self::LEN)?;
        let shape = Shape { num_visits: record[22], num_bands: record[23], row_bits: record[24] };
        let decoded = Self {
            offset: bytes::u64_at(record, 0),
            table: Table { shape, num_pages: bytes::u32_at(record, 8) },
            unit_pages: bytes::u32_at(record, 12),
            num_lanes: bytes::u32_at(record, 16),
            column: bytes::u16_at(record, 20),
        };
        decoded.check().map(|()| decoded)
    }

    /// Returns the record's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let (mut record, shape) = (Vec::with_capacity(Self::LEN), self.table.shape);
        bytes::append(&mut record, &[self.offset], 8);
        bytes::append(&mut record, &[self.table.num_pages, self.unit_pages, self.num_lanes].map(u64::from), 4);
        bytes::append(&mut record, &[self.column.into()], 2);
        record.extend_from_slice(&[shape.num_visits, shape.num_bands, shape.row_bits, 0, 0, 0]);
        record
    }

    /// Returns what the units of the group are bound to: beside its shape the hash of its keys, the column, the class of
    /// its values, and the identities of the files, lane after lane.
    pub(crate) fn context(&self, hasher: &KeyHasher, column: &Column, identities: &[u64]) -> u64 {
        let (mut all, encoded) = (vec![hasher.hash_id(), column.class, 0, 0], self.encode());
        bytes::append(&mut all, &[hasher.seed()], 8);
        all.extend_from_slice(&encoded[8..20]);
        all.extend_from_slice(&encoded[22..]);
        all.extend_from_slice(&[0; 2]);
        bytes::append(&mut all, &[column.digest], 8);
        bytes::append(&mut all, identities, 8);
        xxh3(&all)
    }

    /// Checks that every number is in its range. Then no length below overflows.
    fn check(&self) -> Result<(), DecodeError> {
        let Shape { num_visits, num_bands, row_bits } = self.table.shape;
        if !self.table.shape.is_valid() {
            let shape = u64::from(num_visits) | u64::from(num_bands) << 8 | u64::from(row_bits) << 16;
            return Err(range_error("shape", shape, 0, 0x08_0820));
        }
        for (name, value, max) in [
            ("num_pages", self.table.num_pages, Table::MAX_PAGES),
            ("unit_pages", self.unit_pages, self.table.num_pages),
            ("num_lanes", self.num_lanes, Self::MAX_LANES),
        ] {
            check_range(name, value.into(), 1, max.into())?;
        }
        let payload_len = check_range("payload_len", self.payload_len(0), 1, Self::MAX_PAYLOAD_LEN)?;
        // At most 2^31 units in each of 32 parts.
        let num_units = u64::from(self.num_units()) * u64::from(num_visits);
        check_range("group_len", num_units.saturating_mul(payload_len + CHECK_LEN), 1, Self::MAX_LEN).map(drop)
    }

    /// Returns the number of bits of some pages of a unit: of one page, at most 2^35.
    fn payload_bits(&self, num_pages: u32) -> u64 {
        (u64::from(self.table.shape.page_rows()) * u64::from(self.num_lanes)).saturating_mul(num_pages.into())
    }

    /// Returns the number of units of a part.
    pub(crate) fn num_units(&self) -> u32 {
        self.table.num_pages.div_ceil(self.unit_pages)
    }

    /// Returns the number of pages of unit `unit` of each part.
    pub(crate) fn pages_of(&self, unit: u32) -> u32 {
        self.unit_pages.min(self.table.num_pages - unit * self.unit_pages)
    }

    /// Returns the number in its unit of row `row` of a page: a unit of few lanes may have 2^34 rows.
    pub(crate) fn row(&self, page: u32, row: u32) -> u64 {
        u64::from(page % self.unit_pages) * u64::from(self.table.shape.page_rows()) + u64::from(row)
    }

    /// Returns the length of the payload of unit `unit` of each part.
    pub(crate) fn payload_len(&self, unit: u32) -> u64 {
        self.payload_bits(self.pages_of(unit)).div_ceil(8)
    }

    /// Returns the length of the group.
    pub fn group_len(&self) -> u64 {
        self.unit_range(u32::from(self.table.shape.num_visits), 0).start - self.offset
    }

    /// Returns the place of a unit in the set.
    pub(crate) fn unit_range(&self, part: u32, unit: u32) -> Range<u64> {
        let (full, last) = (self.payload_len(0) + CHECK_LEN, self.num_units() - 1);
        let part_len = u64::from(last) * full + self.payload_len(last) + CHECK_LEN;
        let start = self.offset.saturating_add(u64::from(part) * part_len + u64::from(unit) * full);
        start..start.saturating_add(self.payload_len(unit) + CHECK_LEN)
    }
}

/// A group: its record, the context of its units, and the numbers of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub(crate) record: Record,
    pub(crate) context: u64,
    pub(crate) files: Vec<u32>,
}

/// The payload of a unit whose check holds, followed by zeros, so that words are loaded without a bound for each.
pub(crate) type Unit = Arc<[u8]>;
const PADDING: usize = 24;

impl Group {
    /// Returns the record.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Returns the numbers of the files, lane after lane.
    pub fn files(&self) -> &[u32] {
        &self.files
    }

    /// Returns the units: part, number in the part, and place in the set.
    pub fn units(&self) -> impl Iterator<Item = (u32, u32, Range<u64>)> + '_ {
        let parts = 0..u32::from(self.record.table.shape.num_visits);
        let units = move |part| (0..self.record.num_units()).map(move |unit| (part, unit));
        parts.flat_map(units).map(|(part, unit)| (part, unit, self.record.unit_range(part, unit)))
    }

    /// Verifies a unit of [`units`](Self::units).
    ///
    /// # Errors
    /// The [`DecodeError`] that makes its rows ones.
    pub fn check_unit(&self, part: u32, unit: u32, bytes: &[u8]) -> Result<(), DecodeError> {
        self.open(part, unit, bytes).map(drop)
    }

    /// Returns the check of a payload.
    pub(crate) fn check_of(context: u64, part: u32, unit: u32, payload: &[u8]) -> u64 {
        xxh3(payload) ^ mix(context ^ (u64::from(part) << 32 | u64::from(unit)))
    }

    /// Verifies a unit's bytes, which are its range's.
    ///
    /// # Errors
    /// [`DecodeError::PayloadDigest`], [`DecodeError::PayloadLength`].
    pub(crate) fn open(&self, part: u32, number: u32, bytes: &[u8]) -> Result<Unit, DecodeError> {
        let payload_len = self.record.payload_len(number) as usize;
        if bytes.len() != payload_len + CHECK_LEN as usize {
            let (declared_bytes, actual_bytes) = (payload_len as u64 + CHECK_LEN, bytes.len() as u64);
            return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
        }
        let (payload, check) = bytes.split_at(payload_len);
        // The copy is checked: memory of a caller may change meanwhile.
        let unit: Unit = payload.iter().copied().chain(std::iter::repeat_n(0, PADDING)).collect::<Vec<u8>>().into();
        let computed = Self::check_of(self.context, part, number, &unit[..payload_len]);
        match bytes::u64_at(check, 0) {
            stored if stored != computed => Err(DecodeError::PayloadDigest { stored, computed }),
            _ => Ok(unit),
        }
    }

    /// ANDs `lanes` with a row of a unit, counted from the unit's first.
    #[inline]
    pub(crate) fn and_row(&self, unit: &Unit, row: u64, lanes: &mut [u64]) {
        let first = row * u64::from(self.record.num_lanes);
        let (bytes, shift) = (&unit[(first / 8) as usize..], (first % 8) as u32);
        // A word of a row that does not begin with a byte has a part of nine bytes.
        let low = bytes.chunks_exact(8);
        let high = bytes[1..].chunks_exact(8);
        for ((lane, low), high) in lanes.iter_mut().zip(low).zip(high) {
            *lane &= bytes::u64_at(low, 0) >> shift | bytes::u64_at(high, 0) << (8 - shift);
        }
    }
}
