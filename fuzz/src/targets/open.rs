use super::Reached;
use crate::blocks::{HASH_KEY, Portable, names_a_key, query_block};
use crate::oracle::Oracle;
use filterblock::{DecodeError, KeyHasher, OpenOptions};

/// Any bytes as a block: opened or refused, with the digest and without, never a panic. If the header names a hash
/// under a secret key: without a key, and under that of the golden files.
pub fn open(bytes: &[u8]) -> Reached {
    let (reached, error) = open_under(None, bytes);
    if !names_a_key(bytes) {
        return reached;
    }
    assert_eq!(reached, Reached::Refused, "a keyed block without its key");
    let (reached, keyed_error) = open_under(Some(HASH_KEY), bytes);
    // No key remedies what is wrong with a block before its key is needed.
    if !matches!(error, Some(DecodeError::KeyNeeded { .. })) {
        assert_eq!(keyed_error, error);
    }
    reached
}

/// How far it got, and the error when the digest was checked.
fn open_under(key: Option<[u8; 16]>, bytes: &[u8]) -> (Reached, Option<DecodeError>) {
    let options = OpenOptions::new();
    let options = key.map_or(options.clone(), |key| options.expect_hasher(&KeyHasher::keyed(key)));
    let (opened, trusted) = (options.open(bytes), options.with_digest_check(false).open(bytes));
    match (&opened, &trusted) {
        (Ok(_), Ok(_)) | (Err(DecodeError::PayloadDigest { .. }), _) => {}
        (Err(a), Err(b)) => assert_eq!(a, b),
        _ => panic!("{opened:?}, but trusted: {trusted:?}"),
    }
    for reader in [&opened, &trusted] {
        match reader {
            Ok(reader) => query_block(reader, &Portable::open(bytes, 0, key), &Oracle::open(bytes), bytes),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    (if opened.is_ok() { Reached::Compared } else { Reached::Refused }, opened.err())
}
