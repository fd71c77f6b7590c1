//! The purposes of a table's filters.

use super::cell::CellKey;
use core::fmt;
use filterblock::{KeyTransform, Query};
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
    /// May the table have a row that starts with this prefix? All prefixes of a filter have one length.
    Prefix,
    /// May the table have a row between these bounds? The answer of a [range filter](filterblock::range), which has a
    /// policy of its own ([`StoreOptions::with_range_filter`](super::StoreOptions::with_range_filter)).
    Range,
}

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
        Self::ALL.into_iter().find(|purpose| purpose.id() == id)
    }

    /// The transform of the filter's entries; of ranges, of its keys. `prefix_len`, in bytes, applies to
    /// [`Purpose::Prefix`] only.
    ///
    /// ```
    /// use filterblock::KeyTransform;
    /// use filterblock_kv::Purpose;
    ///
    /// assert_eq!(Purpose::Prefix.transform(4), KeyTransform::FixedPrefix { len: 4 });
    /// assert_eq!(Purpose::Row.transform(4), KeyTransform::Row);
    /// ```
    pub const fn transform(self, prefix_len: u16) -> KeyTransform {
        match self {
            Self::Row | Self::Range => KeyTransform::Row,
            Self::RowColumn => KeyTransform::RowColumn,
            Self::Prefix => KeyTransform::FixedPrefix { len: prefix_len },
        }
    }

    /// The transform of the entries, given the footer's parameter; `None` for a parameter that this version never
    /// writes.
    pub(crate) fn transform_of_param(self, param: u16) -> Option<KeyTransform> {
        let is_written = match self {
            Self::Row | Self::RowColumn | Self::Range => param == 0,
            // Every row starts with the empty prefix: a filter of it would be useless.
            Self::Prefix => param != 0,
        };
        is_written.then(|| self.transform(param))
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
            for prefix_len in [1, 2, u16::MAX] {
                let transform = purpose.transform_of_param(purpose.transform(prefix_len).to_wire().param);
                assert_eq!(transform, Some(purpose.transform(prefix_len)));
            }
        }
        assert_eq!((Purpose::from_id(0), Purpose::from_id(5)), (None, None));
        assert!(Purpose::ALL.starts_with(&Purpose::OF_KEYS));
    }

    #[test]
    fn parameters_that_are_never_written_are_refused() {
        assert_eq!(Purpose::Row.transform_of_param(1), None);
        assert_eq!(Purpose::RowColumn.transform_of_param(8), None);
        assert_eq!(Purpose::Range.transform_of_param(1), None);
        assert_eq!(Purpose::Prefix.transform_of_param(0), None);
        assert_eq!(Purpose::Prefix.transform_of_param(8), Some(KeyTransform::FixedPrefix { len: 8 }));
    }
}
