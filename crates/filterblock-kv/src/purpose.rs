//! The purposes of a table's filters.

use super::cell::CellKey;
use core::fmt;
use filterblock::{KeyTransform, Query, TransformId};
use filterblock_engine::ledger::LookupClass;
use serde::Serialize;

/// The question that a table's filter answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Purpose {
    /// May the table have a cell of this row?
    Row,
    /// May the table have this cell?
    #[serde(rename = "row+column")]
    RowColumn,
    /// May the table have a row that starts with this prefix? All prefixes of a filter have one length, or end with one
    /// delimiter.
    Prefix,
    /// May the table have a row between these bounds? The answer of a [range filter](filterblock::range), which has a
    /// policy of its own ([`StoreOptions::with_range_filter`](super::StoreOptions::with_range_filter)).
    Range,
}

/// The id of prefixes that end with a delimiter, which a version that does not know them skips.
const DELIMITED_ID: u8 = 5;

impl Purpose {
    /// All purposes, in the order of their ids.
    pub const ALL: [Self; 4] = [Self::Row, Self::RowColumn, Self::Prefix, Self::Range];
    /// The purposes of filters of keys, which are the first: all but [`Purpose::Range`].
    pub const OF_KEYS: [Self; 3] = [Self::Row, Self::RowColumn, Self::Prefix];

    /// The ledger's classes, in the order of [`Purpose::ALL`].
    pub(crate) const LOOKUPS: [LookupClass; Self::ALL.len()] = [
        LookupClass::group("row"),
        LookupClass::point("row+column"),
        LookupClass::range("prefix"),
        LookupClass::range("range"),
    ];

    /// The id in a table's footer.
    pub const fn id(self) -> u8 {
        match self {
            Self::Row => 1,
            Self::RowColumn => 2,
            Self::Prefix => 3,
            Self::Range => 4,
        }
    }

    /// The purpose with this id, if this version knows it.
    pub fn from_id(id: u8) -> Option<Self> {
        let id = if id == DELIMITED_ID { Self::Prefix.id() } else { id };
        Self::ALL.into_iter().find(|purpose| purpose.id() == id)
    }

    /// The transform of the filter's entries; of ranges, of its keys. That of [`Purpose::Prefix`] is `prefixes`.
    ///
    /// ```
    /// use filterblock::KeyTransform;
    /// use filterblock_kv::Purpose;
    ///
    /// let prefixes = KeyTransform::FixedPrefix { len: 4 };
    /// assert_eq!(Purpose::Prefix.transform(prefixes), prefixes);
    /// assert_eq!(Purpose::Row.transform(prefixes), KeyTransform::Row);
    /// ```
    pub const fn transform(self, prefixes: KeyTransform) -> KeyTransform {
        match self {
            Self::Row | Self::Range => KeyTransform::Row,
            Self::RowColumn => KeyTransform::RowColumn,
            Self::Prefix => prefixes,
        }
    }

    /// The id and the parameter of a filter in the footer.
    pub(crate) fn to_footer(self, transform: KeyTransform) -> (u8, u16) {
        match (self, transform.to_wire()) {
            (Self::Prefix, TransformId { id: 5, param }) => (DELIMITED_ID, param),
            (Self::Prefix, TransformId { param, .. }) => (self.id(), param),
            _ => (self.id(), 0),
        }
    }

    /// The purpose and the transform of a filter in the footer; `None` for an id or a parameter that this version never
    /// writes.
    pub(crate) fn of_footer(id: u8, param: u16) -> Option<(Self, KeyTransform)> {
        let [low, high] = [param & 0xff, param >> 8].map(|byte| byte as u8);
        let transform = match (id, param) {
            // A filter of the empty prefix, or of no prefix, would be useless.
            (3, 1..) => KeyTransform::FixedPrefix { len: param },
            (DELIMITED_ID, 256..) => KeyTransform::DelimitedPrefix { delimiter: low, levels: high },
            (1 | 2 | 4, 0) => KeyTransform::default(),
            _ => return None,
        };
        Self::from_id(id).map(|purpose| (purpose, purpose.transform(transform)))
    }

    /// The query that its filter answers for a cell; of prefixes and ranges, for the cell's row. A prefix itself is the
    /// row of such a key.
    pub(crate) const fn query(self, key: CellKey<'_>) -> Query<'_> {
        match self {
            // The answer of a row's filter for a cell is the one for its row.
            Self::Row | Self::RowColumn => Query::Cell(key.row, key.column),
            Self::Prefix | Self::Range => Query::Key(key.row),
        }
    }

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        Self::LOOKUPS[self.index()].purpose()
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// The place of its class in the ledger.
impl From<Purpose> for usize {
    fn from(purpose: Purpose) -> Self {
        purpose.index()
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Purpose;
    use filterblock::KeyTransform;

    #[test]
    fn ids_and_parameters_round_trip() {
        for (index, purpose) in Purpose::ALL.into_iter().enumerate() {
            assert_eq!((purpose.index(), Purpose::from_id(purpose.id())), (index, Some(purpose)));
            for prefixes in
                ["prefix:1", "prefix:2", "prefix:65535", "delimited:/", "delimited:0x00:1", "delimited:0xff:9"]
            {
                let transform = purpose.transform(prefixes.parse().expect("a transform"));
                let (id, param) = purpose.to_footer(transform);
                assert_eq!(Purpose::of_footer(id, param), Some((purpose, transform)));
            }
        }
        assert_eq!((Purpose::from_id(0), Purpose::from_id(6)), (None, None));
        assert!(Purpose::ALL.starts_with(&Purpose::OF_KEYS));
    }

    #[test]
    fn parameters_that_are_never_written_are_refused() {
        for (id, param) in [(1, 1), (2, 8), (4, 1), (3, 0), (5, 0), (5, 255), (6, 0), (0, 0)] {
            assert_eq!(Purpose::of_footer(id, param), None);
        }
        assert_eq!(Purpose::of_footer(3, 8), Some((Purpose::Prefix, KeyTransform::FixedPrefix { len: 8 })));
    }
}
