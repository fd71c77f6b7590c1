//! The figures as Markdown and as JSON: the same rows with the same fields; JSON has the quartiles in addition.

use crate::documents;
use crate::peer::Size;
use crate::peers::is_reference;
use crate::rounds::{Metric, Row};
use crate::stats::{median, median_ratio, quartiles};
use crate::tables::{NUM_TABLES, TablesRow};
use serde_json::{Map, Value, json};

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

    fn json(&self, name: &str, fields: &mut Map<String, Value>) {
        let hundredths = |number| rounded(number, 1e2);
        fields.insert(format!("{name}_ns"), json!(self.ns.map(hundredths)));
        fields.insert(format!("{name}_ratio"), json!(self.ratio.map(hundredths)));
        fields.insert(format!("{name}_quartiles_ns"), json!(self.quartiles.map(|both| both.map(hundredths))));
    }
}

impl Report<'_> {
    /// The row's figures, compared with RocksDB's for the same number of keys and bits per key.
    fn of_row(&self, row: &Row<'_>) -> Vec<(Metric, Figure)> {
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

    pub fn markdown(&self) -> Option<String> {
        let figures = self.json();
        let mut lines = vec!["# filterblock beside its peers\n".to_owned()];
        lines.extend(documents::setting(&figures)?);
        if self.rows.iter().any(|row| is_reference(row.peer)) {
            lines.push(
                "\n`×`: ratio to RocksDB's FastLocalBloom of the same bits per key in the same round.".to_owned(),
            );
        }
        if !self.rows.is_empty() {
            lines.push(String::new());
            lines.extend(documents::rows(figures["rows"].as_array()?.iter())?);
        }
        if !self.tables.is_empty() {
            lines.push(format!("\n## One key looked up in {NUM_TABLES} tables\n"));
            lines.extend(documents::ten_tables(&figures)?);
        }
        Some(lines.join("\n") + "\n")
    }

    pub fn json(&self) -> Value {
        let mut document = Map::new();
        document.extend(self.setting.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        document.insert("rows".to_owned(), self.rows.iter().map(|row| self.json_row(row)).collect());
        document.insert("probe_tables".to_owned(), self.tables.iter().map(TablesRow::json).collect());
        Value::Object(document)
    }

    /// The figures that documents have, a row a line: without quartiles.
    pub fn figures(&self) -> String {
        let mut figures = self.json();
        let lists = figures.as_object_mut().into_iter().flat_map(Map::values_mut).filter_map(Value::as_array_mut);
        lists.flatten().filter_map(Value::as_object_mut).for_each(|row| {
            row.retain(|name, _| !name.ends_with("_quartiles_ns"));
        });
        let lines = |rows: &[Value]| rows.iter().map(Value::to_string).collect::<Vec<_>>().join(",\n");
        let field = |(name, value): (&String, &Value)| match value.as_array() {
            Some(rows) => format!("\"{name}\": [\n{}\n]", lines(rows)),
            None => format!("\"{name}\": {value}"),
        };
        let fields: Vec<_> = figures.as_object().into_iter().flatten().map(field).collect();
        format!("{{\n{}\n}}\n", fields.join(",\n"))
    }

    fn json_row(&self, row: &Row<'_>) -> Value {
        let mut fields = Map::new();
        fields.insert("peer".to_owned(), json!(row.peer.name));
        fields.insert("kind".to_owned(), json!(row.peer.kind()));
        fields.insert("n".to_owned(), json!(row.num_keys));
        fields.insert("bits_per_key".to_owned(), json!(rounded(row.bits_per_key, 1e2)));
        fields.insert("fpr".to_owned(), json!(row.false_positive_rate().map(|rate| rounded(rate, 1e6))));
        self.of_row(row).iter().for_each(|(metric, figure)| figure.json(metric.name(), &mut fields));
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

/// As documents show it.
fn rounded(number: f64, scale: f64) -> f64 {
    (number * scale).round() / scale
}
