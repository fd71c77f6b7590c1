//! The cases of filter sets in the conformance kit (`tests/conformance` of the repository), answered by the library. The
//! second reader, in Python, answers them in the kit's own test.

use crate::*;
use serde_json::{Value as Json, json};
use testkit::kit::library::number;
use testkit::material::unhex;

/// The value of a class that has this entry; `None` if the library makes no such value.
fn value(class: u8, entry: &[u8]) -> Option<Value<'_>> {
    let integer =
        || (entry.len() == 8).then(|| entry.iter().rev().fold(0, |value, &byte| value << 8 | i64::from(byte)));
    Some(match ValueClass::from_wire(class) {
        Some(ValueClass::Opaque) => Value::Opaque(entry),
        Some(ValueClass::Number) => Value::Int(integer()?),
        Some(ValueClass::Text) => Value::Text(std::str::from_utf8(entry).ok()?),
        Some(ValueClass::Binary) => Value::Binary(entry),
        Some(ValueClass::Date) => Value::Date(integer()?.try_into().ok()?),
        _ => return None,
    })
}

/// The answer to a query; `-` if the library cannot put it.
fn answer(set: &FilterSet, bytes: &[u8], query: &str) -> char {
    let ["file", name, identity, column, class, entry] = query.split(':').collect::<Vec<_>>()[..] else {
        panic!("{query}");
    };
    let (column, class, value_bytes) = (unhex(column), class.parse().expect("a class"), unhex(entry.trim_matches('u')));
    let of_column = set.columns().find(|(name, _)| *name == column).and_then(|(_, class)| class);
    let value = match value(class, &value_bytes) {
        _ if entry == "u" => Value::NotIndexable,
        Some(value) => value,
        // Of another class than the column's, all values are the same to it.
        None if of_column.is_none_or(|of_column| of_column.to_wire() != class) => Value::NotIndexable,
        None => return '-',
    };
    let (query, files) = (set.query(&column, [value]), set.select([(unhex(name), number(identity))]));
    let mut lookup = set.lookup(&query, &files);
    lookup.give(0, bytes);
    if lookup.any().contains(0) { 'm' } else { 'n' }
}

fn reply(request: &Json) -> Result<Json, DecodeError> {
    let bytes = unhex(request["bytes"].as_str().expect("bytes"));
    let keyed = request.get("key").map(|key| unhex(key.as_str().expect("a key")).try_into().expect("16 bytes"));
    let seeded = request.get("seed").map(|seed| KeyHasher::new(number(seed.as_str().expect("a seed"))));
    let hasher = keyed.map(KeyHasher::keyed).or(seeded);
    let Opening::Ready(set) = FilterSet::open(bytes.len() as u64, &bytes, hasher.as_ref())? else {
        panic!("all bytes were given");
    };
    let units = set.groups().iter().flat_map(|group| group.units().map(move |unit| (group, unit)));
    let units = units.map(|(group, (part, unit, range))| {
        let checked = group.check_unit(part, unit, &bytes[range.start as usize..range.end as usize]);
        checked.err().map_or("ok".to_owned(), |error| error.class().to_string())
    });
    let units: Vec<_> = units.collect();
    let queries = request.get("queries").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let answers: String = queries.iter().map(|query| answer(&set, &bytes, query.as_str().expect("a query"))).collect();
    Ok(json!({"class": "ok", "units": units, "answers": answers}))
}

#[test]
fn the_library_answers_the_kit() {
    let of_file = |name: &str| -> Vec<Json> {
        let path = format!("{}/../../tests/conformance/{name}", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&std::fs::read_to_string(path).expect("the kit")).expect("JSON")
    };
    let mut cases = [of_file("sets.json"), of_file("rows.json")].concat();
    cases.retain(|case| case["request"]["frame"] == "set");
    let (mut num_answers, mut num_left) = (0, 0);
    for case in &cases {
        let (name, expected) = (&case["name"], &case["reply"]);
        let reply = reply(&case["request"]).unwrap_or_else(|error| json!({"class": error.class().to_string()}));
        assert_eq!((&reply["class"], reply.get("units")), (&expected["class"], expected.get("units")), "{name}");
        let letters = |reply: &Json| reply["answers"].as_str().unwrap_or_default().to_owned();
        let (found, wanted) = (letters(&reply), letters(expected));
        let is_right = found.chars().zip(wanted.chars()).all(|(found, wanted)| found == '-' || found == wanted);
        assert!(is_right && found.len() == wanted.len(), "{name}: {found} instead of {wanted}");
        num_answers += found.len();
        num_left += found.matches('-').count();
    }
    println!("counted: {} cases of filter sets in the kit, {num_answers} answers", cases.len());
    assert!(
        cases.len() > 400 && num_answers > 2000 && num_left * 100 < num_answers,
        "{num_left} of {num_answers} left"
    );
}
