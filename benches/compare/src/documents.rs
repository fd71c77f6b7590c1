//! The figures of the repository's documents, filled in from those of a run. A test of the tool compiles this file, too,
//! and fails where a document has another figure.
//!
//! A figure is between `<!-- figures: NAME -->` and `<!-- end -->`. At the beginning of a line the name is that of a
//! table; within a line it is `ROW, N, FIELD` for a row's field, such as `filterblock blocked 10 bits, 1000000, neg_ns`,
//! `ten tables, N, FIELD`, or the name of a setting. `FIELD.1` has one decimal in place of two.

use serde_json::Value;

/// The figures, by the path from the repository's root.
pub const FIGURES: &str = "benches/compare/figures.json";
/// The documents that have some of them.
pub const DOCUMENTS: [&str; 3] = ["README.md", "EMBEDDING.md", "docs/performance.md"];

const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end -->";

/// The rows of README's table: what they are called there, and in the figures.
const SUMMARY: [(&str, &str); 11] = [
    ("RocksDB, FastLocalBloom with AVX2", "RocksDB FastLocalBloom AVX2 10 bits"),
    ("**`blocked`**, 10 bits", "filterblock blocked 10 bits"),
    ("**`bloom`**, 10 bits", "filterblock bloom 10 bits"),
    ("fastbloom", "fastbloom xxh3 10 bits"),
    ("sbbf-rs, split block", "sbbf-rs-safe split block 10 bits"),
    ("RocksDB, Ribbon", "RocksDB Ribbon like 10 bits"),
    ("**`ribbon`**, 1 %", "filterblock ribbon 1 %"),
    ("**`ribbon`**, 0.1 %", "filterblock ribbon 0.1 %"),
    ("**`golomb`**, 1 %", "filterblock golomb 1 %"),
    ("xorf, BinaryFuse8", "xorf BinaryFuse8"),
    ("**`fuse`**, 0.4 %", "filterblock fuse 0.4 %"),
];
const TIMES: [&str; 5] = ["build", "neg", "pos", "mix_branch", "batch_neg"];

/// Returns the document with the figures of this run.
///
/// # Errors
/// What the document asks for and the run does not have.
pub fn filled(document: &str, figures: &Value) -> Result<String, String> {
    let mut parts = document.split(BEGIN);
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let ends = part.split_once(" -->").and_then(|(name, rest)| Some((name, rest.split_once(END)?.1)));
        let (name, rest) = ends.ok_or_else(|| format!("no end of: {BEGIN}{part}"))?;
        let words = name.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_table = filled.is_empty() || filled.ends_with('\n');
        let content = if is_table { table(&words, figures) } else { figure(&words, figures) };
        let content = content.ok_or_else(|| format!("the run has no such figure: {words}"))?;
        filled += &format!("{BEGIN}{name} -->{content}{END}{rest}");
    }
    Ok(filled)
}

fn table(name: &str, figures: &Value) -> Option<String> {
    let lines = match name {
        "setting" => setting(figures)?,
        // Bloom filters of 16 bits per key are only in the pictures.
        "rows" => rows(list(figures, "rows")?.iter().filter(|row| !kind_ends_with(row, " 16 bits")))?,
        "summary" => summary(figures)?,
        "ten tables" => ten_tables(figures)?,
        _ => return None,
    };
    Some(format!("\n\n{}\n\n", lines.join("\n")))
}

fn figure(name: &str, figures: &Value) -> Option<String> {
    let [field, num_keys, row] = name.rsplitn(3, ", ").collect::<Vec<_>>()[..] else { return text(&figures[name]) };
    let num_keys: u64 = num_keys.parse().ok()?;
    let (field, decimals) = field.split_once('.').unwrap_or((field, "2"));
    let row = match row {
        "ten tables" => list(figures, "probe_tables")?.iter().find(|row| row["n"] == num_keys)?,
        _ => find(figures, row, num_keys)?,
    };
    Some(format!("{:.*}", decimals.parse().ok()?, row[field].as_f64()?))
}

pub fn setting(figures: &Value) -> Option<Vec<String>> {
    let settings = figures.as_object()?.iter().filter(|(_, value)| !value.is_array());
    settings.map(|(name, value)| Some(format!("- {name}: {}", text(value)?))).collect()
}

pub fn rows<'f>(rows: impl Iterator<Item = &'f Value>) -> Option<Vec<String>> {
    let names = TIMES.map(|name| format!(" {name}_ns |")).concat();
    let mut lines = vec![
        format!("| peer | kind | n | bits_per_key | fpr |{names}"),
        format!("|---|---|---:|---:|---:|{}", "---:|".repeat(TIMES.len())),
    ];
    for row in rows {
        let (peer, kind) = (row["peer"].as_str()?, row["kind"].as_str()?);
        let times = TIMES.map(|name| format!(" {} |", time(row, name))).concat();
        let (num_keys, bits) = (&row["n"], row["bits_per_key"].as_f64()?);
        lines.push(format!("| {peer} | {kind} | {num_keys} | {bits:.2} | {} |{times}", rate(row)));
    }
    Some(lines)
}

pub fn ten_tables(figures: &Value) -> Option<Vec<String>> {
    let head = "| n | probe_tables_ns | single_probes_ns | single_keys_ns |\n|---:|---:|---:|---:|".to_owned();
    let line = |row: &Value| {
        let times = ["probe_tables", "single_probes", "single_keys"].map(|name| format!(" {} |", time(row, name)));
        format!("| {} |{}", row["n"], times.concat())
    };
    Some([head].into_iter().chain(list(figures, "probe_tables")?.iter().map(line)).collect())
}

fn summary(figures: &Value) -> Option<Vec<String>> {
    let mut lines = vec![
        "| a million keys | bits a key | false positives | build, ns a key | absent key, ns | present | mixed, caller \
         branches | absent, in batches |"
            .to_owned(),
        format!("|---|{}", "---:|".repeat(7)),
    ];
    for (label, name) in SUMMARY {
        let row = find(figures, name, 1_000_000)?;
        let times =
            TIMES.map(|name| row[format!("{name}_ns")].as_f64().map_or("-".to_owned(), |ns| format!("{ns:.2}")));
        let bits = row["bits_per_key"].as_f64()?;
        lines.push(format!("| {label} | {bits:.2} | {} | {} |", rate(row), times.join(" | ")));
    }
    Some(lines)
}

fn find<'f>(figures: &'f Value, name: &str, num_keys: u64) -> Option<&'f Value> {
    let is_it = |row: &&Value| {
        let name_of_row = row["peer"].as_str().zip(row["kind"].as_str()).map(|(peer, kind)| format!("{peer} {kind}"));
        name_of_row.as_deref() == Some(name) && row["n"] == num_keys
    };
    list(figures, "rows")?.iter().find(is_it)
}

fn list<'f>(figures: &'f Value, name: &str) -> Option<&'f Vec<Value>> {
    figures[name].as_array()
}

fn kind_ends_with(row: &Value, end: &str) -> bool {
    row["kind"].as_str().is_some_and(|kind| kind.ends_with(end))
}

fn rate(row: &Value) -> String {
    row["fpr"].as_f64().map_or("-".to_owned(), |rate| format!("{:.4} %", rate * 100.0))
}

fn time(row: &Value, name: &str) -> String {
    match (row[format!("{name}_ns")].as_f64(), row[format!("{name}_ratio")].as_f64()) {
        (Some(ns), Some(ratio)) => format!("{ns:.2} ×{ratio:.2}"),
        (Some(ns), None) => format!("{ns:.2}"),
        (None, _) => "-".to_owned(),
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{DOCUMENTS, FIGURES, filled};
    use serde_json::Value;

    #[test]
    fn documents_have_the_figures_of_the_run() {
        // From either package that compiles this file.
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
        let run: Value = serde_json::from_str(&read(FIGURES)).unwrap();
        for path in DOCUMENTS {
            let (text, filled) = (read(path), filled(&read(path), &run).unwrap());
            let other = text.lines().zip(filled.lines()).find(|(found, expected)| found != expected);
            assert!(
                text == filled,
                "{path}, found and measured: {other:?}. benches/compare/README.md has the commands"
            );
        }
        for picture in ["docs/front-query.svg", "docs/front-build.svg"] {
            assert!(read(picture).contains(run["date"].as_str().unwrap()), "{picture} is of another run");
        }
    }

    #[test]
    fn other_figures_are_found() {
        let row =
            r#"{"peer":"filterblock","kind":"fuse, kept reader 1 %","n":9,"bits_per_key":8,"fpr":0.5,"neg_ns":2.5}"#;
        let figures: Value = serde_json::from_str(&format!(r#"{{"rounds":5,"rows":[{row}]}}"#)).unwrap();
        let filled = |text: &str| filled(text, &figures);
        let inline = |name: &str, figure: &str| format!("takes <!-- figures: {name} -->{figure}<!-- end --> ns");
        let name = "filterblock fuse, kept\nreader 1 %, 9, neg_ns.1";
        assert_eq!(filled(&inline(name, "7")), Ok(inline(name, "2.5")));
        assert_eq!(filled(&inline("rounds", "7")), Ok(inline("rounds", "5")));
        let table = filled("text\n<!-- figures: rows -->1<!-- end -->\n").unwrap();
        let line =
            "\n| filterblock | fuse, kept reader 1 % | 9 | 8.00 | 50.0000 % | - | 2.50 | - | - | - |\n\n<!-- end -->\n";
        assert!(table.ends_with(line), "{table}");
        for missing in ["none", "filterblock fuse 1 %, 9, neg_ns", "filterblock fuse, kept reader 1 %, 9, pos_ns"] {
            assert!(filled(&inline(missing, "1")).is_err(), "{missing}");
        }
        assert!(filled("<!-- figures: rows -->1").is_err());
    }
}
