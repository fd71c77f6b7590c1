//! The figures as Markdown and as JSON.

use crate::engines::Kind;
use crate::phases::{Figures, Subject};
use crate::summary;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Name and value of each setting, the same for all engines.
pub type Setting = Vec<(&'static str, Value)>;

/// Figures, one set per round.
pub struct Row {
    pub subject: Subject,
    pub rounds: Vec<Figures>,
}

impl Row {
    /// Names in the order of their tables.
    fn names(&self) -> Vec<&str> {
        self.rounds.first().map_or(Vec::new(), |figures| figures.keys().map(String::as_str).collect())
    }

    fn samples(&self, name: &str) -> Vec<f64> {
        self.rounds.iter().filter_map(|figures| figures.get(name)?.as_f64()).collect()
    }

    pub fn median(&self, name: &str) -> Option<f64> {
        let mut samples = self.samples(name);
        samples.sort_by(f64::total_cmp);
        let (low, high) = (samples.len().checked_sub(1)? / 2, samples.len() / 2);
        Some((samples.get(low)? + samples.get(high)?) / 2.0)
    }
}

pub struct Report {
    pub setting: Setting,
    pub rows: Vec<Row>,
}

impl Report {
    /// The rows of one table after another.
    fn tables(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(|row, next| row.subject.title() == next.subject.title())
    }

    pub fn markdown(&self) -> String {
        let mut text = String::from("# filterblock's store beside its peers\n\n");
        for (name, value) in &self.setting {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            line(&mut text, &format!("- {name}: {value}"));
        }
        summary::markdown(&mut text, &self.rows);
        for table in self.tables() {
            markdown_figures(&mut text, table);
            markdown_ratios(&mut text, table);
        }
        text
    }

    pub fn json(&self) -> Value {
        let mut document = Map::new();
        document.extend(self.setting.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        document.insert("rows".to_owned(), self.rows.iter().map(json_row).collect());
        Value::Object(document)
    }
}

fn markdown_figures(text: &mut String, table: &[Row]) {
    let Some(first) = table.first() else { return };
    line(text, &format!("\n## {}\n", first.subject.title()));
    line(text, &format!("| engine | {} |", first.names().join(" | ")));
    line(text, &format!("|---|{}", "---:|".repeat(first.names().len())));
    for row in table {
        let figures: Vec<String> = first.names().iter().map(|name| digits(row.median(name))).collect();
        line(text, &format!("| {} | {} |", row.subject.label(), figures.join(" | ")));
    }
}

/// filterblock's medians over those of each peer, if it has one line.
fn markdown_ratios(text: &mut String, table: &[Row]) {
    let (ours, peers): (Vec<&Row>, Vec<&Row>) = table.iter().partition(|row| row.subject.kind == Kind::Filterblock);
    let [ours] = ours[..] else { return };
    if !peers.is_empty() {
        line(text, "");
        line(text, &format!("| filterblock to | {} |", ours.names().join(" | ")));
        line(text, &format!("|---|{}", "---:|".repeat(ours.names().len())));
    }
    for peer in peers {
        // There is no ratio of differences that are not positive.
        let positive = |row: &Row, name: &str| row.median(name).filter(|&median| median > 0.0);
        let ratio = |name: &str| Some(positive(ours, name)? / positive(peer, name)?);
        let ratios: Vec<String> = ours.names().into_iter().map(|name| digits(ratio(name))).collect();
        line(text, &format!("| {} | {} |", peer.subject.label(), ratios.join(" | ")));
    }
}

fn json_row(row: &Row) -> Value {
    let figure = |name: &str| (name.to_owned(), json!({ "median": row.median(name), "rounds": row.samples(name) }));
    json!({
        "table": row.subject.title(),
        "subject": row.subject,
        "figures": row.names().into_iter().map(figure).collect::<Map<String, Value>>(),
    })
}

pub fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("strings take all text");
}

/// Three significant digits, and no fraction from a hundred on.
pub fn digits(number: Option<f64>) -> String {
    match number {
        Some(0.0) => "0".to_owned(),
        Some(number) if number.is_finite() => {
            let places = (2 - number.abs().max(0.1).log10().floor() as i32).clamp(0, 3) as usize;
            format!("{number:.places$}")
        }
        _ => "-".to_owned(),
    }
}
