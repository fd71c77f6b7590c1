//! Hashes of some keys at a time.

use filterblock::{KeyHash, KeyHasher};
use filterblock_set::{EntryBuffer, TimeUnit, Value};

/// Holds the place of a value that has none.
pub const ANY_HASH: KeyHash = KeyHash::from_raw(0);

/// Hashes of some values, in their order.
#[derive(Default)]
pub struct Batch {
    /// A hash for each value.
    pub hashes: Vec<KeyHash>,
    /// The places, ascending, where the hash is of nothing, since the value is null or not indexable.
    pub without: Vec<usize>,
    /// Hashes of values of another class that equal the value of a place.
    pub twins: Vec<(usize, KeyHash)>,
    /// The first place whose value is not indexable.
    pub not_indexable: Option<usize>,
}

impl Batch {
    /// Removes all hashes, and keeps the memory.
    pub fn clear(&mut self) {
        self.hashes.clear();
        self.without.clear();
        self.twins.clear();
        self.not_indexable = None;
    }

    /// Calls `take` for each hash of a value.
    pub fn for_each(&self, mut take: impl FnMut(KeyHash)) {
        let mut rest = self.hashes.iter();
        let mut num_taken = 0;
        for &at in &self.without {
            rest.by_ref().take(at - num_taken).copied().for_each(&mut take);
            rest.next();
            num_taken = at + 1;
        }
        rest.copied().for_each(take);
    }

    /// Adds the hash of a value.
    pub fn add(&mut self, value: Option<Value<'_>>, hasher: &KeyHasher) {
        let mut buffer = EntryBuffer::default();
        let at = self.hashes.len();
        let mut hash_of = |value: Value<'_>| value.entry(&mut buffer).map(|entry| hasher.hash(entry));
        self.twins.extend(value.and_then(twin).and_then(&mut hash_of).map(|hash| (at, hash)));
        let hash = value.and_then(hash_of);
        if hash.is_none() {
            self.without.push(at);
            if value.is_some() {
                self.not_indexable.get_or_insert(at);
            }
        }
        self.hashes.push(hash.unwrap_or(ANY_HASH));
    }
}

/// Returns the value of another class, so of another entry, that equals a date, or a timestamp at midnight: NumPy compares
/// them.
#[inline]
pub fn twin(value: Value<'_>) -> Option<Value<'_>> {
    const SECONDS: i64 = 86_400;
    match value {
        Value::Date(days) => Some(Value::LocalTimestamp(i64::from(days) * SECONDS, TimeUnit::Second)),
        Value::LocalTimestamp(count, unit) => {
            let of_day = SECONDS * 1000i64.pow(unit as u32);
            let days = i32::try_from(count / of_day).ok()?;
            (count % of_day == 0).then_some(Value::Date(days))
        }
        _ => None,
    }
}
