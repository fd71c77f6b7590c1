//! The seed of a remapped filter: a digest of its own set of hashes.
//!
//! Golomb, ribbon and fuse assume that hashes are spread evenly. Hashes of a weak function are not, and keys can be
//! chosen such that they are not, as every step from a key to a slot is known. A set from which a kind cannot be built
//! is therefore *remapped*: each hash is replaced by [`SetSeed::remap`], a bijection, under a seed that follows from
//! the whole set. So the same entries give the same bytes, and no key can be chosen against the seed, which is unknown
//! until the set is complete.

use super::mix;
use super::siphash::siphash13_of_words;
use crate::bytes;
use crate::error::DecodeError;
use core::num::NonZeroU64;

/// The seed of a remapped filter, which is stored after the kind's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SetSeed(NonZeroU64);

impl SetSeed {
    /// The number of bytes that it takes in a frame.
    pub(crate) const LEN: usize = 8;

    /// Returns the seed of a set: the digest of its hashes, sorted and distinct, or 1 if that is 0. (The digest is not
    /// a secret. Trying sets until it has a certain value takes some 2⁶⁴ of them; under a known key SipHash does not
    /// claim that there is no shorter way.)
    pub(crate) fn of(hashes: &[u64]) -> Self {
        let digest = siphash13_of_words([0; 2], hashes);
        Self(NonZeroU64::new(digest).unwrap_or(NonZeroU64::MIN))
    }

    /// Returns the kind's own bytes of a payload, and the seed that follows them if the filter is remapped.
    pub(crate) fn split_off(payload: &[u8], is_remapped: bool) -> Result<(&[u8], Option<Self>), DecodeError> {
        if !is_remapped {
            return Ok((payload, None));
        }
        let (declared_bytes, actual_bytes) = (Self::LEN as u64, payload.len() as u64);
        let split = payload.split_last_chunk();
        let (own, &seed) = split.ok_or(DecodeError::PayloadLength { declared_bytes, actual_bytes })?;
        match NonZeroU64::new(bytes::u64_from(seed)) {
            Some(seed) => Ok((own, Some(Self(seed)))),
            None => Err(DecodeError::Parameter { name: "set_seed", value: 0, min: 1, max: u64::MAX }),
        }
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        bytes::put_u64(&mut out, 0, self.0.get());
        out
    }

    /// Returns the hash that takes the place of `hash`.
    #[inline]
    pub(crate) const fn remap(self, hash: u64) -> u64 {
        mix(hash ^ self.0.get())
    }
}
