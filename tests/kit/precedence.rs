//! What the kit is worth for the order of checks: a reader makes each check of [`rules`](crate::rules) by itself and
//! replies with the first row that fails, in any order of rows. In the document's order it replies as the kit has it;
//! with any two rows exchanged it is noticed, but for two neighbours that cannot both fail.

use crate::answers::of_file;
use crate::library::{Request, caller};
use crate::rules::{Frame, OF_BLOCKS, OF_INDEXES, OF_RANGE_INDEXES, OF_RANGES, Row, class_of};
use serde_json::Value;
use std::collections::BTreeSet;

/// The failing rows of a case with their classes, and what the kit expects.
type Judged = (Vec<(&'static str, &'static str)>, Value);

/// Whether a reader that checks `rows` in this order replies to each case as the kit has it.
fn passes(rows: &[Row], cases: &[Judged]) -> bool {
    cases.iter().all(|(failing, reply)| {
        let first = rows.iter().find_map(|(row, _)| failing.iter().find(|(name, _)| name == row));
        let (row, class) = first.expect("a row fails");
        reply["class"] == *class && reply["row"] == *row
    })
}

/// Exchanges any two of `rows`. Returns the pairs that no case of the kit notices.
fn unnoticed(rows: &[Row], cases: impl Iterator<Item = Value>) -> Vec<(&'static str, &'static str)> {
    let judge = |case: Value| {
        let request = Request::new(&case["request"]);
        let frame = Frame::new(&request.bytes, caller(&request));
        let failing = rows.iter().filter_map(|(row, check)| Some((*row, class_of(&check(&frame).err()?))));
        (failing.collect(), case["reply"].clone())
    };
    let cases: Vec<Judged> = cases.map(judge).collect();
    assert!(passes(rows, &cases), "the document's order");
    let mut unnoticed = Vec::new();
    for first in 0..rows.len() {
        for second in first + 1..rows.len() {
            let mut exchanged = rows.to_vec();
            exchanged.swap(first, second);
            if passes(&exchanged, &cases) {
                unnoticed.push((rows[first].0, rows[second].0));
            }
        }
    }
    unnoticed
}

#[test]
fn any_two_rows_exchanged_are_noticed() {
    let of_blocks = unnoticed(&OF_BLOCKS, of_file("order.json").into_iter());
    // The last row of a filter without entries, and the first of one with entries.
    assert_eq!(of_blocks, [("empty-params", "reserved")]);
    let is_of_rows = |case: &Value| case["name"].as_str().expect("a name").contains(": way ");
    let of_indexes = of_file("partitioned.json").into_iter().filter(is_of_rows);
    assert_eq!(unnoticed(&OF_INDEXES, of_indexes), []);
    let of_frame = |frame: &'static str| {
        let is_refused = move |case: &Value| case["request"]["frame"] == frame && case["reply"]["class"] != "ok";
        of_file("rows.json").into_iter().filter(is_refused)
    };
    assert_eq!(unnoticed(&OF_RANGES, of_frame("range")), of_blocks);
    // A hash is expected, so that no key is missing.
    assert_eq!(unnoticed(&OF_RANGE_INDEXES, of_frame("range-index")), [("expected", "key"), ("key", "records")]);
    let pairs = |num: usize| num * (num - 1) / 2;
    let num_pairs = pairs(OF_BLOCKS.len()) + 2 * pairs(OF_INDEXES.len()) + pairs(OF_RANGES.len());
    println!("counted: {num_pairs} readers with two rows of checks exchanged, {} noticed", num_pairs - 4);
}

/// Each row of the tables that a frame alone can fail has a case.
#[test]
fn each_row_has_a_case() {
    let rows_in = |file: &str, frame: &str| -> BTreeSet<String> {
        let cases = of_file(file).into_iter().filter(|case| case["request"]["frame"] == frame);
        cases.filter_map(|case| case["reply"]["row"].as_str().map(str::to_owned)).collect()
    };
    let named = |rows: &[Row]| rows.iter().map(|(row, _)| (*row).to_owned()).collect::<BTreeSet<_>>();
    let mut of_blocks = rows_in("refused.json", "block");
    of_blocks.insert("expected".to_owned()); // of what a caller states: in expected.json
    assert_eq!(of_blocks, named(&OF_BLOCKS));
    assert_eq!(rows_in("partitioned.json", "index"), named(&OF_INDEXES));
    let of_compact = ["tag", "version", "kind", "empty", "trailer", "integers", "payload"].map(str::to_owned);
    assert_eq!(rows_in("compact.json", "compact"), of_compact.into());
}
