//! The demo's page: it parses, stands alone, and its figures are those of the terminal and of the JSON document.

use crate::demo::{count, demo, json};
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

const SMALL: [&str; 4] = ["--rows", "4_000", "--lookups", "500"];

/// A place for a page, and its path for the command line.
fn place() -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("page.html").to_str().unwrap().to_owned();
    (dir, path)
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Every tag closed, every attribute quoted, every entity known.
fn parse(page: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(page, options).unwrap_or_else(|error| panic!("{error} in {page}"))
}

fn text(node: Node<'_, '_>) -> String {
    node.descendants().filter(Node::is_text).filter_map(|text| text.text()).collect::<String>().trim().to_owned()
}

fn with_id<'a>(page: &'a Document<'_>, id: &str) -> Node<'a, 'a> {
    page.descendants().find(|node| node.attribute("id") == Some(id)).unwrap_or_else(|| panic!("no {id}"))
}

/// Elements of a drawing that have all of `classes`.
fn num_drawn(figure: Node<'_, '_>, classes: &str) -> usize {
    let plot = figure.descendants().find(|node| node.attribute("class") == Some("plot")).expect("a plot");
    plot.descendants().filter(|node| node.attribute("class") == Some(classes)).count()
}

/// A figure as people read it, its share of one where it is a percentage, and half a unit of its last digit.
fn number(text: &str) -> Option<(f64, f64)> {
    let (digits, unit) = match text.split_once(|c: char| !c.is_ascii_digit() && c != ' ' && c != '.') {
        Some((digits, unit)) => (digits, if unit.is_empty() && text.ends_with('%') { 100.0 } else { 1.0 }),
        None => (text, 1.0),
    };
    let digits = digits.replace(' ', "");
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let value: f64 = digits.parse().ok()?;
    Some((value / unit, 0.5 / unit / 10f64.powi(decimals as i32) * (1.0 + 1e-9)))
}

/// Whether `shown` is what people get for the JSON document's `value`.
fn is_shown_as(value: &Value, shown: &str) -> bool {
    match (value, shown) {
        (Value::Null, "-" | "not checked") => true,
        (Value::String(value), shown) => value == shown,
        (Value::Number(value), shown) => {
            number(shown).is_some_and(|(number, tolerance)| (value.as_f64().unwrap() - number).abs() <= tolerance)
        }
        _ => false,
    }
}

/// Each figure that says where it is from, against the JSON document; returns how many.
fn compare(page: &Document<'_>, json: &Value) -> usize {
    let figures: Vec<_> = page.descendants().filter(|node| node.attribute("data-json").is_some()).collect();
    for figure in &figures {
        let (pointer, shown) = (figure.attribute("data-json").unwrap(), text(*figure));
        let value = json.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
        // Where there is no filter there is nothing to say of it.
        let none = pointer.starts_with("/runs/0/") || pointer.contains("/runs/0/");
        assert!(is_shown_as(value, &shown) || (none && shown == "-"), "{pointer}: {value} shown as {shown}");
    }
    figures.len()
}

fn assert_self_contained(page: &str) {
    let rest = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for word in ["http:", "https:", "//", "<script", "<link", "<img", "<iframe", " src=", " href=", "url(", "@import"] {
        assert!(!rest.contains(word), "{word}");
    }
    // Colours follow the reader's scheme, so none is fixed in a drawing.
    assert!(!rest.contains("fill=\"#") && !rest.contains("stroke=\"#"));
}

#[test]
fn the_page_stands_alone_and_shows_the_figures_of_the_json() {
    let (_dir, path) = place();
    let json = json(&[&SMALL[..], &["--report", &path]].concat());
    let page = read(&path);
    assert_self_contained(&page);
    let page = parse(&page);
    let runs = json["runs"].as_array().unwrap();
    let num_tables = count(&json, "tables") as usize;
    // The headline, the terminal's lines, times of three classes, and nine figures of each table.
    assert_eq!(compare(&page, &json), 5 * 2 + 16 * 6 + 10 * 6 + 5 * num_tables * 9);

    let reads = with_id(&page, "reads");
    let labels: Vec<_> = reads.descendants().filter(|node| node.has_tag_name("text")).map(text).collect();
    for class in runs.iter().flat_map(|run| run["classes"].as_array().unwrap()) {
        let reads = class["data_block_reads"].as_u64().unwrap();
        assert!(labels.iter().any(|label| label.replace(' ', "") == reads.to_string()), "{reads} in {labels:?}");
    }
    for (i, _) in runs.iter().enumerate() {
        assert_eq!(num_drawn(reads, &format!("bar s{i}")), 3);
        assert_eq!(num_drawn(with_id(&page, "latency"), &format!("line s{i}")), 1);
    }
    let (rates, sizes) = (with_id(&page, "rates"), with_id(&page, "sizes"));
    for i in 1..runs.len() {
        assert_eq!(num_drawn(rates, &format!("mark s{i}")), num_tables);
        assert_eq!(num_drawn(rates, &format!("whisker s{i}")), num_tables);
        assert_eq!((num_drawn(sizes, &format!("line s{i}")), num_drawn(sizes, &format!("mark s{i}"))), (1, 1));
    }
    assert_eq!((num_drawn(rates, "reference"), num_drawn(sizes, "reference")), (1, 1));
    assert_ratios(rates, runs);
    for field in ["processor", "kernel", "disk", "date"] {
        let value = json["machine"][field].as_str().unwrap();
        let facts = page.descendants().filter(|node| node.has_tag_name("dd")).map(text);
        assert!(!value.is_empty() && facts.filter(|fact| fact.contains(value)).count() == 1, "{field}: {value}");
    }
    for figure in [reads, with_id(&page, "latency"), rates, sizes] {
        let drawing = figure.descendants().find(|node| node.attribute("role") == Some("img")).expect("a drawing");
        assert!(drawing.attribute("aria-label").is_some_and(|label| !label.is_empty()));
    }
}

/// The rows at which lines and markers of a class are drawn: of each its first and its last, in their order.
fn rows_of(plot: Node<'_, '_>, class: &str) -> Vec<(f64, f64)> {
    let row = |point: &str| point.split_once(',').unwrap().1.parse().unwrap();
    let rows = |node: Node<'_, '_>| match node.attribute("points") {
        Some(points) => (row(points.split(' ').next().unwrap()), row(points.split(' ').next_back().unwrap())),
        None => {
            let path = node.attribute("d").unwrap().split(['M', 'm', ' ']).nth(2).unwrap().parse().unwrap();
            (path, path)
        }
    };
    plot.descendants().filter(|node| node.attribute("class") == Some(class)).map(rows).collect()
}

/// Each point is drawn at its ratio, with twice its standard error to both sides, by the scale of the axis' labels.
fn assert_ratios(plot: Node<'_, '_>, runs: &[Value]) {
    let one = rows_of(plot.descendants().find(|node| node.attribute("class") == Some("plot")).unwrap(), "reference");
    let zero = rows_of(plot, "frame")[0].1;
    let one = one[0].0;
    for (series, run) in runs.iter().enumerate().skip(1) {
        let drawn = rows_of(plot, &format!("whisker s{series}")).into_iter();
        let marks: Vec<_> = plot
            .descendants()
            .filter(|node| node.attribute("class") == Some("plot"))
            .flat_map(|drawing| rows_of(drawing, &format!("mark s{series}")))
            .collect();
        for ((table, (low, high)), (mark, _)) in run["per_table"].as_array().unwrap().iter().zip(drawn).zip(marks) {
            let number = |name: &str| table[name].as_f64().unwrap();
            let (ratio, error) = (
                number("observed_fpr") / number("predicted_fpr"),
                number("observed_fpr_four_sigma") / 2.0 / number("predicted_fpr"),
            );
            let row = |ratio: f64| zero - ratio * (zero - one);
            for (shown, expected) in [(mark, ratio), (low, (ratio - error).max(0.0)), (high, ratio + error)] {
                assert!((shown - row(expected)).abs() < 0.7, "{shown} for {expected} in {table}");
            }
        }
    }
}

#[test]
fn a_picture_is_the_first_plot_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("reads.svg");
    json(&[&SMALL[..], &["--report", path.to_str().unwrap()]].concat());
    let picture = read(&path);
    assert!(picture.len() < 60_000);
    assert_self_contained(&picture);
    let picture = parse(&picture);
    assert!(picture.root_element().has_tag_name(("http://www.w3.org/2000/svg", "svg")));
    for i in 0..4 {
        let bars = picture.descendants().filter(|node| node.attribute("class") == Some(&format!("bar s{i}"))).count();
        assert_eq!(bars, 3);
    }
    assert!(picture.descendants().any(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "style"))));
}

#[test]
fn the_page_shows_the_lines_of_the_terminal() {
    let (_dir, path) = place();
    let output = demo(&[&SMALL[..], &["--report", &path]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let terminal = String::from_utf8(output.stdout).unwrap();
    let page = read(&path);
    let page = parse(&page);
    let table = page.descendants().find(|node| node.has_tag_name("table")).expect("a table");
    let rows: Vec<_> = table.descendants().filter(|node| node.has_tag_name("tr")).collect();
    assert_eq!(rows.len(), 16);
    for row in rows {
        let cells: Vec<_> = row.children().filter(Node::is_element).map(text).collect();
        let shown = |line: &&str| {
            let mut rest = *line;
            cells.iter().all(|cell| match rest.trim_start().strip_prefix(cell.as_str()) {
                Some(after) => {
                    rest = after;
                    true
                }
                None => false,
            })
        };
        assert_eq!(terminal.lines().filter(shown).count(), 1, "{cells:?} in {terminal}");
    }
    let facts: Vec<_> = page.descendants().filter(|node| node.has_tag_name("dd")).collect();
    for line in
        facts.iter().take(3).flat_map(|fact| fact.children().filter(Node::is_text)).filter_map(|line| line.text())
    {
        assert!(terminal.contains(line), "{line} in {terminal}");
    }
}

#[test]
fn the_page_of_zipfian_reads_shows_its_figures() {
    let (_dir, path) = place();
    let json = json(&[&SMALL[..], &["--workload", "zipfian", "--absent-share", "20,80", "--report", &path]].concat());
    let page = read(&path);
    assert_self_contained(&page);
    let page = parse(&page);
    assert_eq!(compare(&page, &json), 2 * 9 * 6);
    for figure in ["reads", "throughput"] {
        for i in 0..6 {
            assert_eq!(num_drawn(with_id(&page, figure), &format!("bar s{i}")), 2);
        }
    }
}

#[test]
fn the_page_of_the_attack_shows_its_figures() {
    let (_dir, path) = place();
    let json = json(&[&SMALL[..], &["--workload", "adversary", "--report", &path]].concat());
    let page = read(&path);
    assert_self_contained(&page);
    let page = parse(&page);
    assert_eq!(compare(&page, &json), 29 * 5);
    for i in 1..6 {
        assert_eq!(num_drawn(with_id(&page, "reads"), &format!("bar s{i}")), 4);
    }
}

#[test]
fn the_page_of_elastic_filters_shows_its_figures() {
    let (_dir, path) = place();
    let json = json(&[&SMALL[..], &["--workload", "elastic", "--report", &path]].concat());
    let page = read(&path);
    assert_self_contained(&page);
    let page = parse(&page);
    assert_eq!(compare(&page, &json), 2 * 10 * 4);
    // Three of each order; none is of a kind, which would have a colour of its own.
    assert_eq!(num_drawn(with_id(&page, "in-vain"), "bar s0"), 2 * 3);
}

#[test]
fn names_of_files_are_text_and_not_markup() {
    let dir = tempfile::tempdir().unwrap();
    let list = |name: &str, step: usize| {
        let path = dir.path().join(name);
        let lines: String = (0..1000).step_by(step).map(|i| format!("word{i:05}\n")).collect();
        std::fs::write(&path, lines).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (keys, absent) = (list("a<b>&\"'amp;.txt", 2), list("<title><script>\u{1}", 1));
    let page_path = dir.path().join("page.html");
    let page = page_path.to_str().unwrap();
    json(&["--keys", &keys, "--absent", &absent, "--kind", "blocked", "--lookups", "200", "--report", page]);
    let page = read(page);
    assert!(!page.contains("<script"));
    let page = parse(&page);
    let fact = page.descendants().find(|node| node.has_tag_name("dd")).map(text).unwrap();
    assert!(fact.contains("a<b>&\"'amp;.txt") && fact.contains("<title><script>\u{fffd}"), "{fact}");
}

#[test]
fn what_a_page_would_destroy_is_refused_before_anything_is_run() {
    let dir = tempfile::tempdir().unwrap();
    let keys = dir.path().join("keys");
    std::fs::write(&keys, "a\n").unwrap();
    let keys = keys.to_str().unwrap();
    assert_eq!(demo(&["--keys", keys, "--absent", keys, "--report", keys]).status.code(), Some(2));
    assert_eq!(read(keys), "a\n");
    for path in [dir.path().to_str().unwrap(), "/no/such/directory/page.html", "/dev/null"] {
        let output = demo(&["--report", path]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(4), 0), "{path}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("Nothing was run"), "{path}");
    }
}
