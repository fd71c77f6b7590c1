//! format-spec.md's section 4.3, from keys to answers, and the table of format/writer.md, against the library.

use crate::spec::compare;
use crate::*;

/// The entry of a query; `None` if it has none.
fn entry_of(transform: KeyTransform, query: &str) -> Option<Vec<u8>> {
    let parts: Vec<&str> = query.split(':').collect();
    let bytes = |i: usize| unhex(parts[i]);
    match (parts[0], transform) {
        ("key", _) => transform.entry_of(&bytes(1)).map(<[u8]>::to_vec),
        ("prefix", _) => transform.prefixes_of(&bytes(1)).last().map(<[u8]>::to_vec),
        ("row" | "cell", KeyTransform::Row) => Some(bytes(1)),
        ("cell", KeyTransform::RowColumn) => {
            let mut entry = Vec::new();
            KeyTransform::row_column_entry(&bytes(1), &bytes(2), &mut entry);
            Some(entry)
        }
        _ => None,
    }
}

#[test]
fn transform_vectors() {
    let [apple, ap, apricot, ple, a, pple] = ["apple", "ap", "apricot", "ple", "a", "pple"].map(|t| hex(t.as_bytes()));
    let stored = [
        format!("key:{apple}"),
        format!("key:{ap}"),
        format!("prefix:{apple}"),
        format!("row:{ap}"),
        format!("cell:{ap}:{ple}"),
    ];
    let absent =
        [format!("key:{apricot}"), format!("prefix:{apricot}"), format!("row:{a}"), format!("cell:{a}:{pple}")];
    let transforms = [
        KeyTransform::WholeKey,
        KeyTransform::Row,
        KeyTransform::RowColumn,
        KeyTransform::FixedPrefix { len: 3 },
        KeyTransform::WholeKeyAndPrefix { len: 3 },
        KeyTransform::DelimitedPrefix { delimiter: b'p', levels: 2 },
    ];
    let (hasher, mut lines) = (KeyHasher::new(7), Vec::new());
    for transform in transforms {
        let hashes: BTreeSet<u64> = stored
            .iter()
            .filter_map(|query| entry_of(transform, query))
            .map(|entry| hasher.hash(&entry).get())
            .collect();
        let TransformId { id, param } = transform.to_wire();
        let header = Header { hasher: hasher.clone(), transform: (id, param), ..Header::default() };
        let block = Shape::Fuse { fingerprint_bits: 32, log2_segment_len: 1, num_segments: 4 }.block(&header, &hashes);
        lines.push(format!("{id} {param} {}", hex(&block)));
        let reader = OpenOptions::new().open(&block).expect("a block");
        let pear = [format!("key:{}", hex(b"pear")), format!("prefix:{}", hex(b"p"))];
        for query in stored.iter().chain(&absent).chain(pear.iter().filter(|_| id == 5)) {
            let parts: Vec<Vec<u8>> = query.split(':').skip(1).map(unhex).collect();
            let maybe = match query.split(':').next() {
                Some("key") => reader.may_contain(&parts[0]),
                Some("prefix") => reader.may_contain_prefix(&parts[0]),
                Some("row") => reader.may_match(Query::Row(&parts[0])),
                _ => reader.may_match(Query::Cell(&parts[0], &parts[1])),
            };
            let entry = entry_of(transform, query);
            let made = entry.map_or("none none".into(), |e| format!("{} {:#018x}", hex(&e), hasher.hash(&e).get()));
            lines.push(format!("{id} {param} {query} {made} {}", if maybe { "maybe" } else { "no" }));
        }
    }
    compare("transform", &lines);
}

/// Those of the library's writer, unless it is told otherwise.
const SALT_BITS: u32 = 3;

/// The probes of a filter that has all of its bits.
fn num_probes(kind: FilterKind, bits: u32) -> u32 {
    let policy = sized(kind, bits.into());
    let frame = frame_of(&mut builder_of(&policy, decimals(100_000)));
    CompactFrameReader::open(&frame, &policy).expect("intact").num_probes().expect("a kind that probes")
}

/// The table of format/writer.md: what the library's writer makes of a size, for a million entries.
#[test]
fn what_bits_buy() {
    let text = crate::specification::text();
    let row = |bits: u32| {
        let rate = |kind| {
            let policy = sized(kind, bits.into());
            assert!(policy.salt_bits().is_none_or(|salt_bits| salt_bits == SALT_BITS));
            let rate = policy.expected_false_positive_rate(1_000_000).expect("a size");
            format!("{:.5} %", 100.0 * rate)
        };
        format!(
            "| {bits} | {}; {} | {}; {} | {} | {} | {} |",
            num_probes(FilterKind::Bloom, bits),
            rate(FilterKind::Bloom),
            num_probes(FilterKind::Blocked, bits),
            rate(FilterKind::Blocked),
            rate(FilterKind::Golomb),
            rate(FilterKind::Ribbon),
            rate(FilterKind::Fuse),
        )
    };
    let rows = [4, 6, 8, 10, 12, 16, 20].map(row).join("\n");
    assert!(text.contains(&rows), "format/writer.md should have:\n{rows}\n");
}
