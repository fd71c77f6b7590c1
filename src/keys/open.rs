//! Opening a block: the checks before it answers.

use super::kinds::{self, FilterLayout, Params};
use super::reader::{Facts, FilterBlock, FilterBlockReader};
use crate::error::DecodeError;
use crate::frame::{HEADER_LEN, Header, OpenOptions, checksums};
use crate::hash::SetSeed;

impl OpenOptions {
    /// Opens a block. Beyond the checksums this takes constant time; it copies and allocates nothing, and takes bytes
    /// of any alignment.
    ///
    /// ```
    /// use filterblock::{DecodeError, FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0)?.with_seed(7);
    /// let mut builder = FilterBlockBuilder::new(&policy);
    /// builder.add_key(b"key");
    /// let block = builder.set_context(42).finish()?;
    /// let options = OpenOptions::new().expect(&policy);
    /// assert!(options.clone().with_context(42).open(&block).is_ok());
    /// let wrong = options.with_context(43).open(&block).unwrap_err();
    /// assert_eq!(wrong, DecodeError::WrongContext { expected: 43, found: 42 });
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A [`DecodeError`] for anything that is not an intact block of this format, context, hasher and transform. It
    /// always means *maybe*. Where nothing is expected, seed and transform are compared with nothing: that is for tools
    /// that learn them from the block.
    pub fn open<'a>(&self, block: &'a [u8]) -> Result<FilterBlockReader<'a>, DecodeError> {
        self.open_owned(block)
    }

    /// Opens a block that owns its bytes; see [`FilterBlock`].
    ///
    /// # Errors
    /// The errors of [`OpenOptions::open`].
    pub fn open_owned<B: AsRef<[u8]>>(&self, block: B) -> Result<FilterBlock<B>, DecodeError> {
        let (layout, facts) = self.check(block.as_ref())?;
        Ok(FilterBlock::new(block, layout, facts))
    }

    fn check(&self, block: &[u8]) -> Result<(FilterLayout, Facts), DecodeError> {
        let header = Header::read(block, self.context())?;
        if self.digest_check() {
            checksums::check_digest(block, self.context())?;
        }
        let entries = self.check_expected(header.hash_id, header.seed, header.transform)?;
        let Header { kind, num_entries, entries_estimated, is_remapped, .. } = header;
        // Only a union or an intersection has an estimate: dimensions that follow from another kind's would be wrong.
        if entries_estimated && (!kinds::combines(kind) || num_entries == 0) {
            return Err(DecodeError::MisplacedEstimate { kind, num_entries });
        }
        if is_remapped && (!kinds::remaps(kind) || num_entries == 0) {
            return Err(DecodeError::MisplacedSeed { kind, num_entries });
        }
        let payload = &block[HEADER_LEN..];
        let layout = match num_entries {
            0 => header.check_empty(payload.len() as u64).map(|()| FilterLayout::EMPTY)?,
            _ => {
                let params = Params::decode(kind, &header.stored_params(payload.len() as u64))?;
                let (payload, set_seed) = SetSeed::split_off(payload, is_remapped)?;
                FilterLayout::check(params, payload, HEADER_LEN as u64, set_seed)?
            }
        };
        Ok((layout, Facts { entries, kind, num_entries, entries_estimated }))
    }
}
