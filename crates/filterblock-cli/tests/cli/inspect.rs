//! `filterblock inspect`.

use crate::*;

#[test]
fn json_has_these_keys() {
    for kind in KINDS {
        let place = Place::with_block(kind);
        let block = place.json(0, "inspect t.fb --json");
        let probes = if ["bloom", "blocked"].contains(&kind) { "num_probes " } else { "" };
        let columns = if kind == "ribbon" { "num_columns " } else { "" };
        let expected = format!(
            "kind version num_entries bits_per_key {probes}{columns}predicted_fpr block_len_bytes hash seed transform fill"
        );
        assert_eq!(field_names(&block), expected, "{kind}");
        assert_eq!(block["kind"], kind);
        assert_eq!(block["version"], 1);
        assert_eq!(block["num_entries"], 1000);
        assert_eq!(block["block_len_bytes"], place.read("t.fb").len());
        assert_eq!(block["hash"], "xxh3-64");
        assert_eq!(block["seed"], "0x0000000000000000");
        assert_eq!(block["transform"], "whole-key");
        let fpr = block["predicted_fpr"].as_f64().unwrap();
        assert!((0.001..0.012).contains(&fpr), "{kind}: {fpr}");
        let fill = block["fill"].as_f64().unwrap();
        assert!(if kind == "golomb" { fill == fpr } else { (0.3..0.6).contains(&fill) }, "{kind}: {fill}");
    }
}

/// A filter that says nothing, or `no` to everything, is not shown as if it were like any other.
#[test]
fn useless_filters_are_remarked_upon() {
    let place = Place::with_block("blocked");
    let remark = |line: &str| crate::stderr(&place.run(line));
    assert_eq!(remark("inspect t.fb"), "");
    let says = "f.fb: predicted false-positive rate 50.0 %: it is 'maybe' for most absent keys, and saves few reads. Build \
        it with more bits per key; `filterblock calc --entries 1000 --fpr 1%` shows how many.\n";
    for line in ["build --kind fuse --bits-per-key 2 --output f.fb keys.txt", "inspect f.fb"] {
        assert_eq!(remark(line), says, "{line}");
    }
    place.expect(0, "calc --entries 1000 --fpr 1%");
    place.with_stdin("build --allow-empty --output e.fb", b"");
    assert!(remark("inspect e.fb").starts_with("e.fb: a filter of no entries: it answers 'no' for every key."));
}

#[test]
fn seeds_keep_all_64_bits() {
    let place = Place::with_block("bloom");
    for seed in ["18446744073709551615", "0xffffffffffffffff"] {
        place.expect(0, &format!("build --kind bloom --seed {seed} --output s.fb keys.txt"));
        assert_eq!(place.json(0, "inspect s.fb --json")["seed"], "0xffffffffffffffff");
    }
}

#[test]
fn text_has_a_line_for_each_figure() {
    let place = Place::with_block("blocked");
    let text = place.expect(0, "inspect t.fb");
    let fields = place.json(0, "inspect t.fb --json");
    let names: Vec<_> = text.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(names.join(" "), field_names(&fields));
}
