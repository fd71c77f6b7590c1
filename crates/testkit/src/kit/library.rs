//! The library as a reader of the kit: a line of reply for each line of request.

use crate::material::{transform, unhex};
use crate::readers::Reading;
use crate::rules::{Caller, Frame, OF_BLOCKS, OF_INDEXES, OF_RANGE_INDEXES, OF_RANGES, compact_fault, first_fault};
use filterblock::partition::{Family, Keys, PartitionHandle, Partitioned, Ranges};
use filterblock::range::RangeFilter;
use filterblock::{CompactFrameReader, DecodeError, EntryHasher, KeyHash, KeyHasher, OpenOptions, Query, TransformId};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::ops::Bound;

/// What a reader is given.
#[derive(Debug)]
pub struct Request {
    pub frame: String,
    pub bytes: Vec<u8>,
    pub context: u64,
    pub hasher: Option<KeyHasher>,
    /// Id and parameter.
    pub transform: Option<(u8, u16)>,
    /// Of an index: the bytes in which its partitions are.
    pub file: Vec<u8>,
    pub queries: Vec<String>,
}

impl Request {
    pub fn new(request: &Value) -> Self {
        let text = |name: &str| request.get(name).and_then(Value::as_str);
        let list = |name: &str| request.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let keyed = text("key").map(|key| KeyHasher::keyed(unhex(key).try_into().expect("16 bytes")));
        let of_transform: Vec<u64> = list("transform").iter().map(|value| value.as_u64().expect("a number")).collect();
        Self {
            frame: text("frame").expect("a frame").to_owned(),
            bytes: unhex(text("bytes").expect("bytes")),
            context: text("context").map_or(0, number),
            hasher: text("seed").map(|seed| KeyHasher::new(number(seed))).or(keyed),
            transform: (of_transform.len() == 2).then(|| (of_transform[0] as u8, of_transform[1] as u16)),
            file: unhex(text("partitions").unwrap_or_default()),
            queries: list("queries").iter().map(|query| query.as_str().expect("a query").to_owned()).collect(),
        }
    }

    /// The bytes of a partition, as far as there are any.
    pub fn partition(&self, offset: u64, len: u64) -> &[u8] {
        let end = offset.saturating_add(len).min(self.file.len() as u64) as usize;
        &self.file[(offset as usize).min(end)..end]
    }
}

pub fn number(text: &str) -> u64 {
    u64::from_str_radix(text.strip_prefix("0x").expect("a number"), 16).expect("hexadecimal")
}

/// The long entry of the kit's queries.
pub fn long(len: usize) -> Vec<u8> {
    (1..=len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// The name of a query, and what follows it.
pub fn parts(query: &str) -> (&str, Vec<&str>) {
    let mut parts = query.split(':');
    (parts.next().expect("a name"), parts.collect())
}

/// The query of a text, which is neither of an entry alone nor of a hash.
fn with_query<T>(text: &str, ask: impl FnOnce(Query<'_>) -> T) -> T {
    match parts(text) {
        ("key", p) => ask(Query::Key(&unhex(p[0]))),
        ("prefix", p) => ask(Query::Prefix(&unhex(p[0]))),
        ("row", p) => ask(Query::Row(&unhex(p[0]))),
        ("cell", p) => ask(Query::Cell(&unhex(p[0]), &unhex(p[1]))),
        ("at", p) => ask(Query::Entry { order_key: &unhex(p[0]), entry: &unhex(p[1]) }),
        ("range", p) => {
            let (lower, upper) = (bound(p[0]), bound(p[1]));
            ask(Query::Range(lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice)))
        }
        _ => panic!("{text}"),
    }
}

/// A bound of a range: none, or a key that is included or excluded.
fn bound(text: &str) -> Bound<Vec<u8>> {
    match text.split_at(1) {
        ("i", key) => Bound::Included(unhex(key)),
        ("e", key) => Bound::Excluded(unhex(key)),
        _ => Bound::Unbounded,
    }
}

/// A reader has a short name for a key and for a prefix, besides.
fn may_contain(reader: &dyn Reading, query: &str) -> bool {
    let of_entry = |entry: &[u8]| reader.may_contain_hash(reader.entry_hasher().hasher().hash(entry));
    match parts(query) {
        ("key", p) => reader.may_contain(&unhex(p[0])),
        ("prefix", p) => reader.may_contain_prefix(&unhex(p[0])),
        ("entry", p) => of_entry(&unhex(p[0])),
        ("long", p) => of_entry(&long(p[0].parse().expect("a length"))),
        ("hash", p) => reader.may_contain_hash(KeyHash::from_raw(number(p[0]))),
        _ => with_query(query, |query| reader.may_match(query)),
    }
}

fn may_contain_some(filter: &RangeFilter<&[u8]>, query: &str) -> bool {
    let answer = with_query(query, |query| filter.may_match(query));
    let short = match parts(query) {
        ("prefix", p) => filter.may_contain_prefix(&unhex(p[0])),
        ("key", p) => filter.may_contain(&unhex(p[0])),
        _ => answer,
    };
    assert_eq!(answer, short, "{query}");
    answer
}

/// The reply for the index of a family. *Maybe* where a partition does not open.
fn of_index<F: Family>(request: &Request, options: OpenOptions) -> Result<Value, DecodeError> {
    let filter = Partitioned::<F, _>::open(&request.bytes[..], options)?;
    let class = |at: PartitionHandle| {
        let opened = filter.open_partition(at, request.partition(at.offset, at.len.into()));
        opened.err().map_or("ok".to_owned(), |error| error.class().to_string())
    };
    let load = |at: PartitionHandle| Ok::<_, Infallible>(request.partition(at.offset, at.len.into()));
    let partitions = filter.partitions().map(class).collect::<Vec<_>>();
    let answer = |text: &str| with_query(text, |query| filter.may_match(query, load)).unwrap_or(true);
    let answers = letters(request, answer);
    let num_entries = format!("{:#x}", filter.num_entries());
    Ok(json!({"class": "ok", "num_entries": num_entries, "partitions": partitions, "answers": answers}))
}

/// A letter for each query.
pub fn letters(request: &Request, answer: impl Fn(&str) -> bool) -> Value {
    request.queries.iter().map(|query| if answer(query) { 'm' } else { 'n' }).collect::<String>().into()
}

pub fn reply(request: &Request) -> Result<Value, DecodeError> {
    let Request { bytes, hasher, .. } = request;
    let transform = request.transform.map(|(id, param)| transform(id.into(), param.into()));
    let mut options = OpenOptions::new().with_context(request.context);
    if let Some(hasher) = hasher {
        options = options.expect_hasher(hasher);
    }
    if let Some(transform) = transform {
        options = options.expect_transform(transform);
    }
    let answers = |reader: &dyn Reading| letters(request, |query| may_contain(reader, query));
    let mut reply = json!({"class": "ok"});
    match request.frame.as_str() {
        "block" => {
            let reader = options.open(bytes)?;
            reply["kind"] = reader.kind().name().into();
            reply["num_entries"] = format!("{:#x}", reader.num_entries()).into();
            reply["answers"] = answers(&reader);
        }
        "compact" => {
            let entries = EntryHasher::new(hasher.clone().expect("a hash"), transform.expect("a transform"));
            let reader = CompactFrameReader::open(bytes, &entries)?;
            if let Some(kind) = reader.kind() {
                reply["kind"] = kind.name().into();
            }
            reply["answers"] = answers(&reader);
        }
        "index" => return of_index::<Keys>(request, options),
        "range-index" => return of_index::<Ranges>(request, options),
        "range" => {
            let filter = options.open_ranges(&bytes[..])?;
            reply["num_entries"] = format!("{:#x}", filter.num_entries()).into();
            reply["answers"] = letters(request, |query| may_contain_some(&filter, query));
        }
        frame => panic!("{frame:?}"),
    }
    Ok(reply)
}

/// What the caller of a block or an index states. Where a transform has no parameter, the library's callers state none.
pub fn caller(request: &Request) -> Caller {
    let of_request = |(id, param): (u8, u16)| transform(id.into(), param.into()).to_wire();
    let (transform, hash) = match request.frame.as_str() {
        "range-index" => (Some(TransformId { id: 0, param: 0 }), Some((1, 0))),
        _ => {
            (request.transform.map(of_request), request.hasher.as_ref().map(|hasher| (hasher.hash_id(), hasher.seed())))
        }
    };
    Caller { context: request.context, trusted: false, hash, transform }
}

/// The row that the document demands, and its error.
pub fn fault(request: &Request) -> Result<(), (&'static str, DecodeError)> {
    match request.frame.as_str() {
        "compact" => compact_fault(&request.bytes),
        "index" => first_fault(&OF_INDEXES, &Frame::new(&request.bytes, caller(request))),
        "range-index" => first_fault(&OF_RANGE_INDEXES, &Frame::new(&request.bytes, caller(request))),
        "range" => first_fault(&OF_RANGES, &Frame::new(&request.bytes, caller(request))),
        _ => first_fault(&OF_BLOCKS, &Frame::new(&request.bytes, caller(request))),
    }
}

/// The reply to a request. The row is that of the document's error, if the library's is the same with all its numbers.
pub fn answer(request: &Value) -> Value {
    let request = Request::new(request);
    reply(&request).unwrap_or_else(|error| match fault(&request) {
        Err((row, demanded)) if demanded == error => refused(&error.class().to_string(), row, &error),
        demanded => json!({"error": format!("{error:?}"), "demanded": format!("{demanded:?}")}),
    })
}

pub fn refused(class: &str, row: &str, error: &DecodeError) -> Value {
    let mut reply = json!({"class": class, "row": row});
    if let DecodeError::WrongContext { found, .. } = error {
        reply["found_context"] = format!("{found:#x}").into();
    }
    reply
}
