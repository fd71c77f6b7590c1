//! The figures as Markdown and as JSON: the same rows with the same fields; JSON has the quartiles in addition.

use crate::peer::Size;
use crate::peers::is_reference;
use crate::rounds::{Metric, Row};
use crate::stats::{median, median_ratio, quartiles};
use crate::tables::{NUM_TABLES, TablesRow};
use serde_json::{Map, Value, json};
use std::fmt::Write;

pub struct Report<'p> {
    /// Name and value of each setting of the run.
    pub setting: Vec<(&'static str, Value)>,
    pub rows: Vec<Row<'p>>,
    pub tables: Vec<TablesRow>,
}

/// Nanoseconds of one metric: median over rounds, ratio to the reference, quartiles.
struct Figure {
    ns: Option<f64>,
    ratio: Option<f64>,
    quartiles: Option<[f64; 2]>,
}

impl Figure {
    fn new(samples: &[f64], reference: Option<&Vec<f64>>) -> Self {
        let ratio = reference.and_then(|reference| median_ratio(samples, reference));
        Self { ns: median(samples), ratio, quartiles: quartiles(samples) }
    }

    fn markdown(&self) -> String {
        match (self.ns, self.ratio) {
            (Some(ns), Some(ratio)) => format!("{ns:.2} ×{ratio:.2}"),
            (Some(ns), None) => format!("{ns:.2}"),
            (None, _) => "-".to_owned(),
        }
    }

    fn json(&self, name: &str, fields: &mut Map<String, Value>) {
        fields.insert(format!("{name}_ns"), json!(self.ns));
        fields.insert(format!("{name}_ratio"), json!(self.ratio));
        fields.insert(format!("{name}_quartiles_ns"), json!(self.quartiles));
    }
}

impl Report<'_> {
    /// The row's figures, compared with RocksDB's for the same number of keys and bits per key.
    fn figures(&self, row: &Row<'_>) -> Vec<(Metric, Figure)> {
        let comparable = |other: &&Row<'_>| {
            is_reference(other.peer) && other.num_keys == row.num_keys && other.peer.size == row.peer.size
        };
        let reference = self.rows.iter().find(comparable).filter(|_| matches!(row.peer.size, Size::Bits(_)));
        let figure = |metric| {
            let reference = reference.map(|reference| &reference.samples[metric]);
            (metric, Figure::new(&row.samples[metric], reference))
        };
        Metric::ALL.into_iter().map(figure).collect()
    }

    pub fn markdown(&self) -> String {
        let mut text = String::from("# filterblock beside its peers\n\n");
        for (name, value) in &self.setting {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            line(&mut text, &format!("- {name}: {value}"));
        }
        if !self.rows.is_empty() {
            self.markdown_rows(&mut text);
        }
        if !self.tables.is_empty() {
            line(&mut text, &format!("\n## One key looked up in {NUM_TABLES} tables\n"));
            line(&mut text, "| n | probe_tables_ns | single_probes_ns | single_keys_ns |\n|---:|---:|---:|---:|");
        }
        for row in &self.tables {
            let [at_once, single, keys] = row.figures().map(|(_, figure)| figure.markdown());
            line(&mut text, &format!("| {} | {at_once} | {single} | {keys} |", row.num_keys));
        }
        text
    }

    fn markdown_rows(&self, text: &mut String) {
        if self.rows.iter().any(|row| is_reference(row.peer)) {
            line(text, "\n`×`: ratio to RocksDB's FastLocalBloom of the same bits per key in the same round.");
        }
        line(text, "");
        let names = Metric::ALL.map(|metric| format!(" {}_ns |", metric.name())).concat();
        line(text, &format!("| peer | kind | n | bits_per_key | fpr |{names}"));
        line(text, &format!("|---|---|---:|---:|---:|{}", "---:|".repeat(Metric::ALL.len())));
        for row in &self.rows {
            let rate = row.false_positive_rate().map(|rate| rate * 100.0);
            let cells =
                self.figures(row).iter().map(|(_, figure)| format!(" {} |", figure.markdown())).collect::<String>();
            let (peer, kind) = (row.peer.name, row.peer.kind());
            let rate = rate.map_or("-".to_owned(), |rate| format!("{rate:.4} %"));
            line(text, &format!("| {peer} | {kind} | {} | {:.2} | {rate} |{cells}", row.num_keys, row.bits_per_key));
        }
    }

    pub fn json(&self) -> Value {
        let mut document = Map::new();
        document.extend(self.setting.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        document.insert("rows".to_owned(), self.rows.iter().map(|row| self.json_row(row)).collect());
        document.insert("probe_tables".to_owned(), self.tables.iter().map(TablesRow::json).collect());
        Value::Object(document)
    }

    fn json_row(&self, row: &Row<'_>) -> Value {
        let mut fields = Map::new();
        fields.insert("peer".to_owned(), json!(row.peer.name));
        fields.insert("kind".to_owned(), json!(row.peer.kind()));
        fields.insert("n".to_owned(), json!(row.num_keys));
        fields.insert("bits_per_key".to_owned(), json!(row.bits_per_key));
        fields.insert("fpr".to_owned(), json!(row.false_positive_rate()));
        self.figures(row).iter().for_each(|(metric, figure)| figure.json(metric.name(), &mut fields));
        Value::Object(fields)
    }
}

impl TablesRow {
    fn figures(&self) -> [(&'static str, Figure); 3] {
        [
            ("probe_tables", Figure::new(&self.probe_tables, Some(&self.single_probes))),
            ("single_probes", Figure::new(&self.single_probes, None)),
            ("single_keys", Figure::new(&self.single_keys, Some(&self.single_probes))),
        ]
    }

    fn json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("n".to_owned(), json!(self.num_keys));
        fields.insert("tables".to_owned(), json!(NUM_TABLES));
        self.figures().iter().for_each(|(name, figure)| figure.json(name, &mut fields));
        Value::Object(fields)
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("strings take all text");
}
