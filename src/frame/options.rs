//! The options of opening: the properties that the caller expects of the bytes.

use crate::error::DecodeError;
use crate::hash::{self, EntryHasher, KeyHasher, KeyTransform};

/// The properties that the caller expects of the bytes that it opens.
///
/// A reader must hash and transform keys as the writer did: otherwise it denies keys that are stored.
/// [`OpenOptions::expect`] compares all of this in one call.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    context: u64,
    /// The hasher and the transform, compared if the caller stated them.
    entries: EntryHasher,
    expects_hasher: bool,
    expects_transform: bool,
    digest_check: bool,
}

/// The default is [`OpenOptions::new`].
impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenOptions {
    /// Returns options for no context, any seed but no secret key, any transform, and a verified digest.
    pub const fn new() -> Self {
        Self {
            context: 0,
            entries: EntryHasher::new(KeyHasher::new(0), KeyTransform::WholeKey),
            expects_hasher: false,
            expects_transform: false,
            digest_check: true,
        }
    }

    /// Sets the context with which the block was written.
    #[must_use]
    pub const fn with_context(mut self, context: u64) -> Self {
        self.context = context;
        self
    }

    /// Refuses blocks whose hasher or transform differs from those of `expected`, a
    /// [`FilterPolicy`](crate::FilterPolicy) or its [`EntryHasher`]. Blocks hashed under a secret key open with its
    /// hasher only. The code of an engine's own transform is applied to keys.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, KeyTransform, OpenOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.with_seed(7);
    /// let mut builder = FilterBlockBuilder::new(&policy);
    /// builder.add_key(b"key");
    /// let block = builder.finish()?;
    /// assert!(OpenOptions::new().expect(&policy).open(&block).is_ok());
    /// let other = policy.with_transform(KeyTransform::FixedPrefix { len: 2 });
    /// assert!(OpenOptions::new().expect(&other).open(&block).is_err());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn expect(self, expected: &impl AsRef<EntryHasher>) -> Self {
        Self { entries: expected.as_ref().clone(), expects_hasher: true, expects_transform: true, ..self }
    }

    /// Refuses blocks that were hashed by another hasher, and leaves the transform unchecked: for tools that learn it
    /// from the block. Queries then apply the block's own.
    #[must_use]
    pub fn expect_hasher(self, hasher: &KeyHasher) -> Self {
        Self { entries: self.entries.with_hasher(hasher.clone()), expects_hasher: true, ..self }
    }

    /// Refuses blocks whose entries were made by another transform, and leaves the hasher unchecked.
    #[must_use]
    pub fn expect_transform(self, transform: KeyTransform) -> Self {
        Self { entries: self.entries.with_transform(transform), expects_transform: true, ..self }
    }

    /// Sets whether the payload's digest is verified, which is on unless set. Without it the header is still checked,
    /// and no payload bytes can cause a panic; but answers may be wrong if they differ from the bytes that were
    /// written. It is off for engines that verify the block's bytes themselves.
    #[must_use]
    pub const fn with_digest_check(mut self, digest_check: bool) -> Self {
        self.digest_check = digest_check;
        self
    }

    /// Returns the context of [`OpenOptions::with_context`].
    pub const fn context(&self) -> u64 {
        self.context
    }

    pub(crate) const fn digest_check(&self) -> bool {
        self.digest_check
    }

    /// Compares what a header states with what the caller expects. Returns the expected hasher, or else the one that
    /// the header names, and the transform, with the code of the expected one.
    pub(crate) fn check_expected(
        &self,
        found_id: u8,
        found: u64,
        transform: KeyTransform,
    ) -> Result<EntryHasher, DecodeError> {
        let expected = self.entries.hasher();
        if self.expects_hasher && expected.hash_id() != found_id {
            return Err(DecodeError::WrongHash { expected: expected.hash_id(), found: found_id });
        }
        if self.expects_hasher && expected.seed() != found {
            let expected = expected.seed();
            return Err(match found_id {
                hash::XXH3_ID => DecodeError::WrongSeed { expected, found },
                _ => DecodeError::WrongKey { expected, found },
            });
        }
        let stated = self.entries.transform();
        if self.expects_transform && stated != transform {
            return Err(DecodeError::WrongTransform { expected: stated.to_wire(), found: transform.to_wire() });
        }
        // Properties that the caller stated are compared before those that it left out.
        if !self.expects_hasher && found_id != hash::XXH3_ID {
            return Err(DecodeError::KeyNeeded { key_id: found });
        }
        // The caller's entries have the code.
        let entries = self.entries.clone();
        let entries = if self.expects_transform { entries } else { entries.with_transform(transform) };
        Ok(if self.expects_hasher { entries } else { entries.with_hasher(KeyHasher::new(found)) })
    }
}
