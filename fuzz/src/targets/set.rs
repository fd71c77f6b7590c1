use super::Reached;
use crate::repair::masked;
use filterblock::KeyHasher;
use filterblock_set::{FOOTER_LEN, FilterSet, Opening, SetBuilder, SetColumn, Shape, Sizing, Value, ValueClass};
use xxhash_rust::xxh3::xxh3_64;

const FILES: [(&str, u64); 3] = [("a", 1), ("b", 2), ("c", 3)];
const NUM_KEYS: usize = 8;

/// Shapes of tables: the writer's, rows anywhere, a line, and many rows of few keys.
const SHAPES: [Shape; 4] = [
    Shape { num_visits: 3, num_bands: 2, row_bits: 3 },
    Shape { num_visits: 7, num_bands: 1, row_bits: 0 },
    Shape { num_visits: 1, num_bands: 4, row_bits: 6 },
    Shape { num_visits: 32, num_bands: 8, row_bits: 1 },
];

/// Filter sets. If the input's first byte is even, bytes of a set follow. If it is odd, a set of the library follows
/// it, of the shape and the appends that the next byte states, in which each further three bytes overwrite one (its
/// position in two bytes, modulo the length). Bit 1 of the first byte has the checksums of index and footer recomputed.
/// No key of the library's set is denied, whatever was overwritten, nor after the set was compacted.
pub fn set(input: &[u8]) -> Reached {
    let [mode, rest @ ..] = input else { return Reached::Nothing };
    let is_built = mode % 2 == 1;
    let mut bytes = match (is_built, rest) {
        (false, bytes) => bytes.to_vec(),
        (true, [shape, changes @ ..]) => {
            let mut bytes = sample(*shape);
            let len = bytes.len();
            changes.chunks_exact(3).for_each(|c| bytes[(usize::from(c[0]) << 8 | usize::from(c[1])) % len] = c[2]);
            bytes
        }
        (true, []) => return Reached::Nothing,
    };
    if mode & 2 != 0 && bytes.len() >= FOOTER_LEN {
        seal(&mut bytes);
    }
    let Some(set) = open(&bytes) else { return Reached::Refused };
    look_up(&set, &bytes, is_built);
    if let Some(shape) = rest.first().filter(|_| is_built) {
        compact(&set, &bytes, *shape);
    }
    Reached::Compared
}

fn open(bytes: &[u8]) -> Option<FilterSet> {
    match FilterSet::open(bytes.len() as u64, bytes, None).ok()? {
        Opening::Ready(set) => Some(*set),
        Opening::Needs(_) => unreachable!("all bytes were given"),
    }
}

/// Looks up the keys of all files, and some of none, in every column.
fn look_up(set: &FilterSet, bytes: &[u8], is_built: bool) {
    let columns: Vec<Vec<u8>> = set.columns().map(|(name, _)| name.to_vec()).collect();
    for column in columns.iter().map(Vec::as_slice).chain([&b"id"[..]]) {
        let query = set.query(column, (0..6 * NUM_KEYS as i64).map(Value::Int));
        let selection = set.select(FILES);
        let mut lookup = set.lookup(&query, &selection);
        assert!(set.held_bytes() > 0 || lookup.any().count() == 3, "what was not read is maybe");
        for range in lookup.plan(16) {
            lookup.give(range.start, &bytes[range.start as usize..range.end as usize]);
        }
        assert!(lookup.plan(0).is_empty(), "what was given is not asked for again");
        let (each, any) = (lookup.each(), lookup.any());
        assert!((0..3).all(|file| any.contains(file) == each.iter().any(|key| key.contains(file))), "and in one pass");
        for key in (0..3 * NUM_KEYS).filter(|_| is_built && column == b"id") {
            assert!(each[key].contains(key % 3), "key {key} of file {} is denied", key % 3);
        }
    }
}

/// Takes the set over into another one, without keys, and looks them up there.
fn compact(set: &FilterSet, bytes: &[u8], shape: u8) {
    let Ok(mut builder) = SetBuilder::new(set.hasher(), &[column(shape)]) else { return };
    let part = |range: std::ops::Range<u64>| Ok(&bytes[range.start as usize..range.end as usize]);
    // Other columns, classes or shapes than the sample's: overwritten.
    let Ok(_) = builder.absorb(set, |_| true, part) else { return };
    let mut compacted = Vec::new();
    builder.allow_empty();
    builder.finish(&mut compacted).expect("files that were taken over");
    look_up(&open(&compacted).expect("a set just written"), &compacted, true);
}

fn column(shape: u8) -> SetColumn {
    let sizing = Sizing::with_shape(SHAPES[usize::from(shape) % SHAPES.len()], 4, 0.05).expect("a shape");
    SetColumn::new("id", ValueClass::Number, sizing)
}

/// Key number k is in file number k modulo 3. The third file was appended, after what another writer has appended.
fn sample(shape: u8) -> Vec<u8> {
    let builder = || SetBuilder::new(&KeyHasher::new(7), &[column(shape)]).expect("a builder");
    let (mut first, mut second, mut bytes) = (builder(), builder(), Vec::new());
    for (number, (name, identity)) in (0..).zip(FILES) {
        let builder = if number < 2 { &mut first } else { &mut second };
        let mut file = builder.file(name, identity).expect("a file");
        (0..NUM_KEYS as i64).for_each(|key| assert!(file.add(0, Value::Int(3 * key + number))));
        file.finish().expect("a lane");
    }
    first.finish(&mut bytes).expect("a set");
    let old = open(&bytes).expect("a set just written");
    bytes.resize(bytes.len() + usize::from(shape) / SHAPES.len() % 8 * 13, 0xa5);
    second.finish_append(&old, |_| false, &mut bytes).expect("more");
    bytes
}

/// Makes magic, digest and CRC right.
fn seal(bytes: &mut [u8]) {
    let footer = bytes.len() - FOOTER_LEN;
    bytes[footer..][..8].copy_from_slice(&filterblock_set::SET_MAGIC);
    let index_len = u64::from_le_bytes(bytes[footer + 32..][..8].try_into().expect("eight bytes"));
    let index = usize::try_from(index_len).ok().and_then(|len| footer.checked_sub(len)).unwrap_or(footer);
    let digest = xxh3_64(&bytes[index..footer]);
    bytes[footer + 52..][..8].copy_from_slice(&digest.to_le_bytes());
    let crc = masked(crc32fast::hash(&bytes[footer..footer + 60]));
    bytes[footer + 60..].copy_from_slice(&crc.to_le_bytes());
}
