//! The header of a range filter: a block's header with a kind of its own, and no hash.

use super::cut;
use super::integers::{self, Integers};
use crate::error::DecodeError;
#[cfg(feature = "std")]
use crate::frame::KIND_AT;
use crate::frame::fields::{self, Fields};
use crate::frame::{
    DIGEST_AT, FORMAT_VERSION, HASH_AT, HEADER_LEN, MAGIC, NUM_ENTRIES_AT, OpenOptions, PARAMS_AT, PARAMS_LEN, SEED_AT,
    checksums,
};
use crate::hash;
use crate::hash::KeyTransform;
use crate::kind::BlockKind;

/// All that is known of a filter's payload without reading its groups or codes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Map {
    /// Keys cut where they differ from their neighbours.
    Cut(cut::Params),
    Integers(Integers),
}

/// Fills the header of `block`, whose payload is complete. `params` are those of its map, zeros without keys.
#[cfg(feature = "std")]
pub(super) fn write(block: &mut [u8], params: [u8; PARAMS_LEN], num_keys: u64, context: u64) {
    block[KIND_AT] = BlockKind::Ranges.tag();
    block[PARAMS_AT..DIGEST_AT].copy_from_slice(&params);
    let (hash_id, transform) = (hash::XXH3_ID, KeyTransform::WholeKey);
    Fields { hash_id, transform, features: 0, seed: 0, num_entries: num_keys }.write(
        MAGIC,
        FORMAT_VERSION,
        block,
        context,
    );
}

/// Checks all of `block` except its groups or codes. Returns the map, `None` without keys, and the number of keys.
pub(super) fn check(block: &[u8], options: &OpenOptions) -> Result<(Option<Map>, u64), DecodeError> {
    let header = fields::check_start(block, MAGIC, FORMAT_VERSION, options.context())?;
    if let BlockKind::Keys(kind) = fields::kind(&header)? {
        return Err(DecodeError::WrongFamily { found: kind.tag() });
    }
    // Keys are stored as they are: nothing hashes or transforms them.
    if header[HASH_AT] != hash::XXH3_ID {
        return Err(DecodeError::UnknownHash { found: header[HASH_AT] });
    }
    DecodeError::check_reserved(SEED_AT, &header[SEED_AT..NUM_ENTRIES_AT])?;
    let Fields { transform, num_entries, .. } = Fields::read(&header, 0)?;
    if transform != KeyTransform::WholeKey {
        return Err(DecodeError::UnknownTransform { found: transform.to_wire().id });
    }
    fields::check_payload_len(block, &header)?;
    if options.digest_check() {
        checksums::check_digest(block, options.context())?;
    }
    let mut stored = [0; PARAMS_LEN];
    stored.copy_from_slice(&header[PARAMS_AT..DIGEST_AT]);
    let payload = &block[HEADER_LEN..];
    if num_entries > 0 {
        let map = if integers::Params::are_of(&stored) {
            Map::Integers(Integers::check(&stored, num_entries, payload, HEADER_LEN as u64)?)
        } else {
            Map::Cut(cut::Params::decode(&stored, num_entries, payload)?)
        };
        return Ok((Some(map), num_entries));
    }
    DecodeError::check_len(0, payload.len() as u64)?;
    DecodeError::check_reserved(PARAMS_AT, &stored)?;
    Ok((None, 0))
}
