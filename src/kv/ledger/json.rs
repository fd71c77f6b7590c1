//! A report for programs. Rates that nothing is known about are `null`.

use super::super::purpose::Purpose;
use super::outcome::Outcome;
use super::tally::Tally;
use super::{Account, Ledger, LedgerReport, LevelTally};
use crate::FilterKind;
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

/// A map from every outcome to its count.
struct Outcomes<'a>(&'a Tally);

impl Serialize for Outcomes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Outcome::ALL.len()))?;
        for outcome in Outcome::ALL {
            map.serialize_entry(outcome.id(), &self.0.count(outcome))?;
        }
        map.end()
    }
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Tally", 11)?;
        fields.serialize_field("lookups", &self.lookups)?;
        fields.serialize_field("outcomes", &Outcomes(self))?;
        fields.serialize_field("unfiltered_found", &self.unfiltered_found)?;
        fields.serialize_field("column_absent", &self.column_absent)?;
        fields.serialize_field("range_absent", &self.range_absent)?;
        fields.serialize_field("data_block_reads", &self.data_block_reads)?;
        fields.serialize_field("data_block_bytes", &self.data_block_bytes)?;
        fields.serialize_field("data_block_cache_hits", &self.data_block_cache_hits)?;
        fields.serialize_field("expected_false_positives", &self.expected_false_positives)?;
        fields.serialize_field("observed_fpr", &self.observed_fpr())?;
        fields.serialize_field("predicted_fpr", &self.predicted_fpr())?;
        fields.end()
    }
}

impl Serialize for Ledger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Ledger", 9)?;
        fields.serialize_field("row", &self.row)?;
        fields.serialize_field("row_column", &self.row_column)?;
        fields.serialize_field("prefix", &self.prefix)?;
        fields.serialize_field("scan_block_reads", &self.scan_block_reads)?;
        fields.serialize_field("scan_block_bytes", &self.scan_block_bytes)?;
        fields.serialize_field("scan_block_cache_hits", &self.scan_block_cache_hits)?;
        fields.serialize_field("filter_block_reads", &self.filter_block_reads)?;
        fields.serialize_field("filter_block_bytes", &self.filter_block_bytes)?;
        fields.serialize_field("filter_block_cache_hits", &self.filter_block_cache_hits)?;
        fields.end()
    }
}

impl Serialize for LevelTally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("LevelTally", 4)?;
        fields.serialize_field("level", &self.level)?;
        fields.serialize_field("purpose", self.purpose.name())?;
        fields.serialize_field("kind", &self.kind.map(FilterKind::name))?;
        fields.serialize_field("tally", &self.tally)?;
        fields.end()
    }
}

/// A map from every purpose to the kind of its filter.
struct Kinds([Option<FilterKind>; Purpose::ALL.len()]);

impl Serialize for Kinds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kinds = Purpose::ALL.iter().zip(self.0);
        serializer.collect_map(kinds.map(|(purpose, kind)| (purpose.name(), kind.map(FilterKind::name))))
    }
}

impl Serialize for Account {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Account", 4)?;
        fields.serialize_field("table", &self.table)?;
        fields.serialize_field("level", &self.level)?;
        fields.serialize_field("kinds", &Kinds(self.kinds))?;
        fields.serialize_field("ledger", &self.ledger)?;
        fields.end()
    }
}

impl Serialize for LedgerReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("LedgerReport", 3)?;
        fields.serialize_field("total", &self.total)?;
        fields.serialize_field("by_level", &self.by_level)?;
        fields.serialize_field("tables", &self.tables)?;
        fields.end()
    }
}

impl LedgerReport {
    /// The report as JSON, on one line.
    ///
    /// # Errors
    /// None that is known: every name is a string and every number finite.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}
