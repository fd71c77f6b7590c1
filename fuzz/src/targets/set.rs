use super::Reached;
use crate::repair::masked;
use filterblock::{FilterKind, FilterPolicy};
use filterblock_set::{FOOTER_LEN, FilterSet, Opening, SetBuilder, SetColumn, Value, ValueClass};
use xxhash_rust::xxh3::xxh3_64;

const FILES: [(&str, u64); 3] = [("a", 1), ("b", 2), ("c", 3)];
const NUM_KEYS: usize = 8;

/// Filter sets. If the input's first byte is even, bytes of a set follow. If it is odd, a set of the library follows
/// it, of the kind and the slices that the next byte states, in which each further three bytes overwrite one (its
/// position in two bytes, modulo the length). Bit 1 of the first byte has the checksums of index and footer recomputed.
/// No key of the library's set is denied, whatever was overwritten.
pub fn set(input: &[u8]) -> Reached {
    let [mode, rest @ ..] = input else { return Reached::Nothing };
    let is_built = mode % 2 == 1;
    let mut bytes = match (is_built, rest) {
        (false, bytes) => bytes.to_vec(),
        (true, [shape, changes @ ..]) => {
            let mut bytes = sample(usize::from(*shape));
            let len = bytes.len();
            changes.chunks_exact(3).for_each(|c| bytes[(usize::from(c[0]) << 8 | usize::from(c[1])) % len] = c[2]);
            bytes
        }
        (true, []) => return Reached::Nothing,
    };
    if mode & 2 != 0 && bytes.len() >= FOOTER_LEN {
        seal(&mut bytes);
    }
    let Ok(Opening::Ready(set)) = FilterSet::open(bytes.len() as u64, &bytes, None) else {
        return Reached::Refused;
    };
    set.give(0, &bytes);
    let columns: Vec<Vec<u8>> = set.columns().map(|(name, _)| name.to_vec()).collect();
    for column in columns.iter().map(Vec::as_slice).chain([&b"id"[..]]) {
        let query = set.query(column, (0..3 * NUM_KEYS as i64).map(Value::Int));
        let selection = set.select(FILES);
        for range in set.plan(&query, &selection, 16) {
            set.give(range.start, &bytes[range.start as usize..range.end as usize]);
        }
        assert!(set.plan(&query, &selection, 0).is_empty(), "what was given is not asked for again");
        let answers = set.answer(&query, &selection);
        for key in (0..query.num_keys()).filter(|_| is_built && column == b"id") {
            assert!(answers.of_key(key)[key % 3], "key {key} of file {} is denied", key % 3);
        }
    }
    Reached::Compared
}

/// Key number k is in file number k modulo 3. The third file was appended, after what another writer has appended.
fn sample(shape: usize) -> Vec<u8> {
    let kind = FilterKind::ALL[shape % FilterKind::ALL.len()];
    let policy = FilterPolicy::with_bits_per_key(kind, 10.0).expect("legal");
    let column = SetColumn::new("id", ValueClass::Number).with_slices((shape / 8 % 4) as u16);
    let (mut builder, mut bytes) = (SetBuilder::new(&policy, &[column]).expect("a builder"), Vec::new());
    for (number, (name, identity)) in (0i64..).zip(FILES) {
        let mut file = builder.file(name, identity).expect("a file");
        (0..NUM_KEYS as i64).for_each(|key| assert!(file.add(0, Value::Int(3 * key + number))));
        file.finish().expect("blocks");
        if number == 1 {
            bytes = builder.finish().expect("a set");
        }
    }
    let Ok(Opening::Ready(old)) = FilterSet::open(bytes.len() as u64, &bytes, None) else { unreachable!("a set") };
    bytes.resize(bytes.len() + shape / 32 % 8 * 13, 0xa5);
    bytes.extend(builder.finish_append(&old, |_| false).expect("more"));
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
