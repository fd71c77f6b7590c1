use super::Reached;
use crate::blocks::{HASH_KEY, Portable, ask, names_a_key};
use crate::oracle::Oracle;
use filterblock::{DecodeError, KeyHasher, OpenOptions};

/// Any bytes as a block: opened or refused, with the digest and without, never a panic. Where the header names a hash
/// under a secret key: without a key, and under that of the golden files.
pub fn open(bytes: &[u8]) -> Reached {
    let (reached, error) = open_under(None, bytes);
    if !names_a_key(bytes) {
        return reached;
    }
    assert_eq!(reached, Reached::Refused, "a keyed block without its key");
    let (reached, keyed_error) = open_under(Some(HASH_KEY), bytes);
    // What is wrong with a block before its key is asked for, no key mends.
    if !matches!(error, Some(DecodeError::KeyNeeded { .. })) {
        assert_eq!(keyed_error, error);
    }
    reached
}

/// How far it came, and what it was refused with where the digest was asked for.
fn open_under(key: Option<[u8; 16]>, bytes: &[u8]) -> (Reached, Option<DecodeError>) {
    let options = OpenOptions::new();
    let options = key.map_or(options, |key| options.expect_hasher(KeyHasher::keyed(key)));
    let (opened, trusted) = (options.open(bytes), options.trusted(true).open(bytes));
    match (&opened, &trusted) {
        (Ok(_), Ok(_)) | (Err(DecodeError::PayloadDigest { .. }), _) => {}
        (Err(a), Err(b)) => assert_eq!(a, b),
        _ => panic!("{opened:?}, but trusted: {trusted:?}"),
    }
    for reader in [&opened, &trusted] {
        match reader {
            Ok(reader) => ask(reader, &Portable::open(bytes, 0, key), &Oracle::open(bytes), bytes),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    (if opened.is_ok() { Reached::Compared } else { Reached::Refused }, opened.err())
}
