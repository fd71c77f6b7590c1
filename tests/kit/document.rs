//! A reader in the simplest code possible, of the oracle and of the rules of format-spec.md alone, answers the kit: its
//! replies are what the document demands, not what the library does.

use crate::answers::assert_answered;
use crate::library::{Request, caller, fault, letters, long, number, parts, refused};
use crate::material::unhex;
use crate::material::upto;
use crate::oracle::Oracle;
use crate::oracle::index::{Index, order_key_of_pair, partition_context};
use crate::rules::{Caller, Frame, OF_BLOCKS, class_of, first_fault};
use filterblock::{DecodeError, KeyHasher};
use serde_json::{Value, json};

const KINDS: [&str; 6] = ["", "bloom", "blocked", "golomb", "ribbon", "fuse"];

/// The entry of a query under a transform, as section 4.3 has it.
fn entry_of((id, param): (u8, u16), query: &str) -> Option<Vec<u8>> {
    let (name, parts) = parts(query);
    let bytes = |i: usize| unhex(parts[i]);
    match (name, id) {
        ("entry", _) | ("key", 0 | 4) | ("row" | "cell", 1) => Some(bytes(0)),
        ("at", _) => Some(bytes(1)),
        ("long", _) => Some(long(parts[0].parse().expect("a length"))),
        ("key", 3) | ("prefix", 3 | 4) => bytes(0).get(..param.into()).map(<[u8]>::to_vec),
        ("key" | "prefix", 5) => upto(&bytes(0), param).map(<[u8]>::to_vec),
        ("cell", 2) => {
            let len = bytes(0).len();
            Some([bytes(0), bytes(1), (0..4).map(|i| (len >> (8 * i)) as u8).collect()].concat())
        }
        _ => None,
    }
}

/// The order key of a query, as section 15.1 has it.
fn order_key((id, param): (u8, u16), query: &str) -> Option<Vec<u8>> {
    match (parts(query), id) {
        (("at", parts), 128..) => Some(unhex(parts[0])),
        (("cell", parts), 2) => Some(order_key_of_pair(&unhex(parts[0]), &unhex(parts[1]))),
        _ => entry_of((id, param), query),
    }
}

fn may_contain(oracle: &Oracle, hasher: &KeyHasher, transform: (u8, u16), query: &str) -> bool {
    match parts(query) {
        ("hash", parts) => oracle.may_contain(number(parts[0])),
        _ => entry_of(transform, query).is_none_or(|entry| oracle.may_contain(hasher.hash(&entry).get())),
    }
}

/// The reply, or the row that fails and its error.
fn reply(request: &Request) -> Result<Value, (&'static str, DecodeError)> {
    fault(request)?;
    let bytes = &request.bytes[..];
    let mut reply = json!({"class": "ok"});
    if request.frame == "compact" {
        let (hasher, transform) = (request.hasher.as_ref().expect("a hash"), request.transform.expect("a transform"));
        let (oracle, kind) = (Oracle::open_compact(bytes), usize::from(bytes[bytes.len() - 1] & 7));
        if kind > 0 {
            reply["kind"] = KINDS[kind].into();
        }
        reply["answers"] = letters(request, |query| may_contain(&oracle, hasher, transform, query));
        return Ok(reply);
    }
    let (frame, is_index) = (Frame::new(bytes, caller(request)), request.frame == "index");
    let in_header = KeyHasher::new(frame.seed());
    let hasher = request.hasher.as_ref().unwrap_or(&in_header);
    let transform = (frame.transform().id, frame.transform().param);
    reply["num_entries"] = format!("{:#x}", crate::oracle::int(&bytes[24..32])).into();
    if !is_index {
        let oracle = Oracle::open(bytes);
        reply["kind"] = KINDS[usize::from(bytes[9])].into();
        reply["answers"] = letters(request, |query| may_contain(&oracle, hasher, transform, query));
        return Ok(reply);
    }
    let index = Index::open(bytes);
    let fault_of = |i: usize| {
        let context = partition_context(request.context, i as u64);
        let caller = Caller {
            context,
            trusted: false,
            hash: Some((hasher.hash_id(), hasher.seed())),
            transform: Some(frame.transform()),
        };
        let (offset, len, _) = index.partitions[i];
        first_fault(&OF_BLOCKS, &Frame::new(request.partition(offset, len), caller))
    };
    let class = |i: usize| fault_of(i).map_or_else(|(_, error)| class_of(&error), |()| "ok");
    reply["partitions"] = (0..index.partitions.len()).map(class).collect::<Vec<_>>().into();
    reply["answers"] = letters(request, |query| {
        let Some(at) = order_key(transform, query) else { return true };
        index.find(&at).is_some_and(|i| {
            let (offset, len, _) = index.partitions[i];
            let opened = fault_of(i).map(|()| Oracle::open(request.partition(offset, len)));
            opened.map_or(true, |oracle| may_contain(&oracle, hasher, transform, query))
        })
    });
    Ok(reply)
}

#[test]
fn the_document_answers_the_kit() {
    // The oracle of range filters answers from keys: it is compared with the library in tests/format. Sets have a plain
    // reader in their package.
    let has = |frame: &str| !["range", "range-index", "set"].contains(&frame);
    assert_answered(has, |request| {
        let refused = |(row, error): (&str, DecodeError)| refused(class_of(&error), row, &error);
        reply(&Request::new(request)).unwrap_or_else(refused)
    });
}
