use super::Reached;
use crate::blocks::{HASH_KEY, Portable, names_a_key, query_block};
use crate::oracle::Oracle;
use crate::repair::{Repair, repair};
use filterblock::{DecodeError, HEADER_LEN, KeyHasher, OpenOptions};

/// A block damaged by someone who can compute checksums: the checks after the checksums must suffice. If the header
/// names a hash under a secret key, that of the golden files is tried too.
pub fn repaired(input: &[u8]) -> Reached {
    let Some((&mode, damaged)) = input.split_first() else { return Reached::Nothing };
    if damaged.len() < HEADER_LEN {
        return Reached::Nothing;
    }
    let mode = Repair::from_mode(mode);
    let mut block = damaged.to_vec();
    repair(&mut block, mode);

    let reached = open_under(None, &block, mode);
    if !names_a_key(&block) {
        return reached;
    }
    assert_eq!(reached, Reached::Refused, "a keyed block without its key");
    open_under(Some(HASH_KEY), &block, mode)
}

fn open_under(key: Option<[u8; 16]>, block: &[u8], mode: Repair) -> Reached {
    let options = OpenOptions::new().with_context(mode.context);
    let options = key.map_or(options.clone(), |key| options.expect_hasher(&KeyHasher::keyed(key)));
    let mut reached = Reached::Refused;
    for options in [options.clone(), options.with_digest_check(false)] {
        match options.open(block) {
            Ok(reader) => {
                query_block(&reader, &Portable::open(block, mode.context, key), &Oracle::open(block), block);
                reached = Reached::Compared;
            }
            Err(DecodeError::Magic { .. } | DecodeError::HeaderChecksum { .. } | DecodeError::WrongContext { .. }) => {
                panic!("repaired, but refused: {mode:?}")
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    reached
}
