//! The writer's side: keys in, a block out.

use super::header::{self, Map};
use super::keys::Keys;
use super::policy::RangePolicy;
use super::{cut, integers};
use crate::build::{Built, fault};
use crate::error::BuildError;
use crate::frame::{HEADER_LEN, OpenOptions, PARAMS_LEN};
use core::fmt;
use std::collections::TryReserveError;
use std::vec::Vec;

/// Turns the keys of one table into one range filter.
///
/// It buffers all keys, plus 8 bytes a key if their lengths differ. Building takes another 10 to 20 bytes a key. Keys
/// in ascending order are taken as they come; others are sorted. The same set of keys and the same policy give the same
/// bytes.
#[derive(Clone)]
pub struct RangeFilterBuilder {
    policy: RangePolicy,
    keys: Keys,
    context: u64,
    allows_empty: bool,
}

/// The greatest number of keys of a filter.
const MAX_KEYS: u64 = u32::MAX as u64;
/// The greatest length of a payload: places in it have 40 bits.
const MAX_PAYLOAD_LEN: u64 = (1 << 40) - 1;

impl RangeFilterBuilder {
    /// Returns an empty builder.
    pub fn new(policy: RangePolicy) -> Self {
        Self { policy, keys: Keys::default(), context: 0, allows_empty: false }
    }

    /// Makes room for callers that must survive a lack of memory: the next key allocates nothing if it has at most `len`
    /// bytes. Repeated calls grow the room geometrically. Finishing allocates all the same.
    ///
    /// ```
    /// use filterblock::range::{RangeFilterBuilder, RangePolicy};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut builder = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(14.0)?);
    /// builder.try_reserve_key(3)?;
    /// builder.add_key(b"key");
    /// assert!(builder.try_reserve_key(usize::MAX).is_err());
    /// assert_eq!(builder.num_added(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the memory cannot be allocated; the builder keeps its keys.
    pub fn try_reserve_key(&mut self, len: usize) -> Result<(), TryReserveError> {
        self.keys.try_reserve(len)
    }

    /// Adds a key.
    #[inline]
    pub fn add_key(&mut self, key: &[u8]) {
        self.keys.push(key);
    }

    /// Returns the number of keys added since the last finish. Equal neighbours count once.
    pub fn num_added(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Returns the policy.
    pub fn policy(&self) -> &RangePolicy {
        &self.policy
    }

    /// Binds the next block to `context`; see [`FilterBlockBuilder::set_context`](crate::FilterBlockBuilder::set_context).
    pub fn set_context(&mut self, context: u64) -> &mut Self {
        self.context = context;
        self
    }

    /// Permits the next block to have no keys: it denies every range whose bounds are in order.
    pub fn allow_empty(&mut self) -> &mut Self {
        self.allows_empty = true;
        self
    }

    /// Removes all keys since the last finish, and the context.
    pub fn clear(&mut self) {
        self.keys.clear();
        (self.context, self.allows_empty) = (0, false);
    }

    /// Returns the block of all added keys in a new vector.
    ///
    /// # Errors
    /// The errors of [`RangeFilterBuilder::finish_into`].
    pub fn finish(&mut self) -> Result<Vec<u8>, BuildError> {
        let mut block = Vec::new();
        self.finish_into(&mut block)?;
        Ok(block)
    }

    /// Appends the block of all added keys to `out`, and returns its length in bytes.
    ///
    /// # Errors
    /// [`BuildError::Empty`] if nothing was added, [`BuildError::NotIntegers`] if the policy requires integers and the
    /// keys are not, [`BuildError::TooManyEntries`] for more than 2³² − 1 keys, [`BuildError::TooLarge`] for a payload
    /// of more than 2⁴⁰ − 1 bytes, [`BuildError::SelfCheck`] if the finished filter lacks a key. After an error `out`
    /// is unchanged, and the builder keeps its keys.
    pub fn finish_into(&mut self, out: &mut Vec<u8>) -> Result<usize, BuildError> {
        let len = self.build_into(out)?;
        self.clear();
        Ok(len)
    }

    /// Does what [`RangeFilterBuilder::finish_into`] does and keeps the keys, for callers that may have to repeat it.
    ///
    /// # Errors
    /// The errors of [`RangeFilterBuilder::finish_into`].
    pub fn build_into(&mut self, out: &mut Vec<u8>) -> Result<usize, BuildError> {
        let start = out.len();
        self.append(out, start).inspect_err(|_| out.truncate(start))?;
        Ok(out.len() - start)
    }

    /// Appends the block of all keys at `start`, where `out` ends: of integers, if the policy has a rate and the keys
    /// permit it.
    fn append(&mut self, out: &mut Vec<u8>, start: usize) -> Result<(), BuildError> {
        out.resize(start + HEADER_LEN, 0);
        if self.keys.len() == 0 {
            if !self.allows_empty {
                return Err(BuildError::Empty);
            }
            header::write(&mut out[start..], [0; PARAMS_LEN], 0, self.context);
            return Ok(());
        }
        self.keys.sort();
        let num_keys = self.keys.len() as u64;
        if num_keys > MAX_KEYS {
            return Err(BuildError::TooManyEntries { num_entries: num_keys, max_entries: MAX_KEYS });
        }
        let mut exact = None;
        if let Some((rate, len)) = self.policy.false_positive_rate() {
            let (checks, is_required) = (self.policy.self_check(), self.policy.requires_integers());
            if !is_required {
                let max_len = self.policy.expected_block_len(num_keys) - HEADER_LEN as u64;
                exact = cut::build_exact(&self.keys, max_len, out);
            }
            if exact.is_none() {
                match integers::build(&self.keys, len, len as f64 / rate, out, checks) {
                    Ok(Built { params, is_checked }) => {
                        return self.complete(params.encode(), &mut out[start..], |map, _| match map {
                            Map::Integers(read) if is_checked && read.params == params => Ok(()),
                            _ => Err(self.keys.lacks(0, num_keys)),
                        });
                    }
                    Err(reason) if is_required => return Err(BuildError::NotIntegers(reason)),
                    Err(_) => {}
                }
            }
        }
        let params = exact.unwrap_or_else(|| cut::build(&self.keys, self.policy.max_payload_len(num_keys), out));
        let block = &mut out[start..];
        let payload_bytes = (block.len() - HEADER_LEN) as u64;
        if payload_bytes > MAX_PAYLOAD_LEN {
            let max_bytes = MAX_PAYLOAD_LEN;
            return Err(BuildError::TooLarge { num_entries: num_keys, payload_bytes, max_bytes });
        }
        fault::inject(&mut block[HEADER_LEN..]);
        self.complete(params.encode(), block, |map, payload| match map {
            Map::Cut(params) => cut::check(&self.keys, &params, payload),
            Map::Integers(_) => Err(self.keys.lacks(0, num_keys)),
        })
    }

    /// Writes the header of a filter whose payload is complete, and compares the block with the keys, unless the policy
    /// leaves that out.
    fn complete(
        &self,
        params: [u8; PARAMS_LEN],
        block: &mut [u8],
        compare: impl Fn(Map, &[u8]) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let num_keys = self.keys.len() as u64;
        header::write(block, params, num_keys, self.context);
        if !self.policy.self_check() {
            return Ok(());
        }
        match header::check(block, &OpenOptions::new().with_context(self.context)) {
            Ok((Some(map), _)) => compare(map, &block[HEADER_LEN..]),
            _ => Err(self.keys.lacks(0, num_keys)),
        }
    }
}

/// The output is one line, without the keys.
impl fmt::Debug for RangeFilterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RangeFilterBuilder({}, {} keys added)", self.policy, self.num_added())
    }
}
