//! The library as a reader of the kit: a line of reply for each line of request.

use crate::material::{hex, transform, unhex};
use crate::readers::Reading;
use crate::rows;
use filterblock::partition::{PartitionError, PartitionedFilter};
use filterblock::{CompactFrameReader, DecodeError, KeyHash, KeyHasher, OpenOptions};
use serde_json::{Value, json};
use std::convert::Infallible;

fn number(value: &Value) -> u64 {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x")).expect("a number");
    u64::from_str_radix(digits, 16).expect("hexadecimal")
}

/// The long entry of the kit's queries.
pub fn long(len: usize) -> Vec<u8> {
    (1..=len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// The name of a query, and what follows it.
fn parts(query: &str) -> (&str, Vec<&str>) {
    let mut parts = query.split(':');
    (parts.next().expect("a name"), parts.collect())
}

fn may_contain(reader: &dyn Reading, query: &str) -> bool {
    match parts(query) {
        ("key", p) => reader.may_contain(&unhex(p[0])),
        ("prefix", p) => reader.may_contain_prefix(&unhex(p[0])),
        ("row", p) => reader.may_contain_row(&unhex(p[0])),
        ("cell", p) => reader.may_contain_row_column(&unhex(p[0]), &unhex(p[1])),
        ("entry", p) => reader.may_contain_entry(&unhex(p[0])),
        ("long", p) => reader.may_contain_entry(&long(p[0].parse().expect("a length"))),
        ("hash", p) => reader.may_contain_hash(KeyHash::from_raw(number(&p[0].into()))),
        _ => panic!("{query}"),
    }
}

/// In an index: *maybe* where the partition does not open.
fn leads_to(filter: &PartitionedFilter<&[u8]>, file: &[u8], query: &str) -> bool {
    let load = |at: filterblock::partition::PartitionHandle| {
        let end = at.offset.saturating_add(at.len.into()).min(file.len() as u64) as usize;
        Ok::<_, Infallible>(&file[(at.offset as usize).min(end)..end])
    };
    let answer: Result<bool, PartitionError<_>> = match parts(query) {
        ("key", p) => filter.may_contain(&unhex(p[0]), load),
        ("prefix", p) => filter.may_contain_prefix(&unhex(p[0]), load),
        ("row", p) => filter.may_contain_row(&unhex(p[0]), load),
        ("cell", p) => filter.may_contain_row_column(&unhex(p[0]), &unhex(p[1]), load),
        ("at", p) => filter.may_contain_entry(&unhex(p[0]), &unhex(p[1]), load),
        _ => panic!("{query}"),
    };
    answer.unwrap_or(true)
}

fn refused(error: &DecodeError, row: &str) -> Value {
    let mut reply = json!({"class": error.class().to_string(), "row": row});
    if let DecodeError::WrongContext { found, .. } = error {
        reply["found_context"] = format!("{found:#x}").into();
    }
    reply
}

fn letter(maybe: bool) -> char {
    if maybe { 'm' } else { 'n' }
}

fn reply(request: &Value) -> Result<Value, Value> {
    let bytes = unhex(request["bytes"].as_str().expect("bytes"));
    let context = request.get("context").map_or(0, number);
    let seeded = request.get("seed").map(|seed| KeyHasher::new(number(seed)));
    let keyed = request.get("key").and_then(Value::as_str);
    let keyed = keyed.map(|key| KeyHasher::keyed(unhex(key).try_into().expect("16 bytes")));
    let hasher = seeded.or(keyed);
    let id_and_param = |value: &Value, i: usize| value[i].as_u64().expect("a number");
    let transform = request.get("transform").map(|value| transform(id_and_param(value, 0), id_and_param(value, 1)));
    let queries = request.get("queries").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let queries: Vec<&str> = queries.iter().map(|query| query.as_str().expect("a query")).collect();

    let mut options = OpenOptions::new().context(context);
    options = hasher.map_or(options, |hasher| options.expect_hasher(hasher));
    options = transform.map_or(options, |transform| options.expect_transform(transform));
    let answers = |reader: &dyn Reading| -> String {
        let answer = |query: &&str| letter(may_contain(reader, query));
        queries.iter().map(answer).collect()
    };
    let mut reply = json!({"class": "ok"});
    match request["frame"].as_str() {
        Some("block") => {
            let reader = options.open(&bytes).map_err(|error| refused(&error, rows::of_block(&error, &bytes)))?;
            reply["kind"] = reader.kind().name().into();
            reply["num_entries"] = format!("{:#x}", reader.num_entries()).into();
            reply["answers"] = answers(&reader).into();
        }
        Some("compact") => {
            let (hasher, transform) = (hasher.expect("a hash"), transform.expect("a transform"));
            let reader = CompactFrameReader::open(&bytes, hasher, transform)
                .map_err(|error| refused(&error, rows::of_compact(&error, &bytes)))?;
            if let Some(kind) = reader.kind() {
                reply["kind"] = kind.name().into();
            }
            reply["answers"] = answers(&reader).into();
        }
        Some("index") => {
            let filter = PartitionedFilter::open(&bytes[..], options)
                .map_err(|error| refused(&error, rows::of_index(&error)))?;
            let file = unhex(request["partitions"].as_str().expect("partitions"));
            let class = |at: filterblock::partition::PartitionHandle| {
                let end = at.offset.saturating_add(at.len.into()).min(file.len() as u64) as usize;
                let opened = filter.open_partition(at, &file[(at.offset as usize).min(end)..end]);
                opened.err().map_or("ok".to_owned(), |error| error.class().to_string())
            };
            reply["num_entries"] = format!("{:#x}", filter.num_entries()).into();
            reply["partitions"] = filter.partitions().map(class).collect::<Vec<_>>().into();
            let answer = |query: &&str| letter(leads_to(&filter, &file, query));
            reply["answers"] = queries.iter().map(answer).collect::<String>().into();
        }
        frame => panic!("{frame:?}"),
    }
    Ok(reply)
}

/// The reply to a line.
pub fn answer(line: &str) -> String {
    let request: Value = serde_json::from_str(line).expect("a request in JSON");
    reply(&request).unwrap_or_else(|refused| refused).to_string()
}

/// The bytes of a query's only part, as the kit writes them.
pub fn query(name: &str, bytes: &[u8]) -> String {
    format!("{name}:{}", hex(bytes))
}
