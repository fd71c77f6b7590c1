//! Files of a table, a bit for each.

use std::iter;

/// Files of a [`Selection`](crate::Selection), a bit for each, in the order in which the caller's table lists them: those
/// that may have a key, and are to be read.
///
/// ```
/// use filterblock_set::FileMask;
///
/// let mut files = FileMask::all(70);
/// assert_eq!((files.num_files(), files.count()), (70, 70));
/// assert!(files.iter().eq(0..70) && files.contains(69));
/// assert_eq!(files.words(), [u64::MAX, 0x3f]);
/// // The files of both masks, and those of either; masks of different numbers of files are of two tables.
/// files.and(&FileMask::all(70));
/// files.or(&FileMask::all(71));
/// assert_eq!(files, FileMask::all(71));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMask {
    num_files: usize,
    /// Bits beyond the last file are 0.
    words: Vec<u64>,
}

impl FileMask {
    /// Returns the mask of all of `num_files` files: *maybe* for each.
    pub fn all(num_files: usize) -> Self {
        let mut words = vec![!0; num_files.div_ceil(64)];
        words.iter_mut().skip(num_files / 64).for_each(|last| *last = (1 << (num_files % 64)) - 1);
        Self { num_files, words }
    }

    /// Returns the number of the table's files.
    pub fn num_files(&self) -> usize {
        self.num_files
    }

    /// Returns the number of files that are to be read.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the files that are to be read, by their places in the table, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let of_word = |(at, &word): (usize, &u64)| ones(word).map(move |bit| at * 64 + bit);
        self.words.iter().enumerate().flat_map(of_word)
    }

    /// Returns whether a file is to be read, as is one that the table does not have.
    pub fn contains(&self, file: usize) -> bool {
        self.words.get(file / 64).is_none_or(|word| word >> (file % 64) & 1 != 0) || file >= self.num_files
    }

    /// Returns the words: file f is bit f mod 64 of word f div 64, and the bits beyond the last file are 0.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Leaves the files that `other` has, too: for filters of which all are true of a row. If `other` is of a table with
    /// another number of files, all files are *maybe*.
    pub fn and(&mut self, other: &Self) {
        self.join(other, |word, other| *word &= other);
    }

    /// Adds the files of `other`: for filters of which one is true of a row. If `other` is of a table with another number
    /// of files, all files are *maybe*.
    pub fn or(&mut self, other: &Self) {
        self.join(other, |word, other| *word |= other);
    }

    fn join(&mut self, other: &Self, join: impl Fn(&mut u64, u64)) {
        if self.num_files == other.num_files {
            self.words.iter_mut().zip(&other.words).for_each(|(word, other)| join(word, *other));
        } else {
            *self = Self::all(self.num_files.max(other.num_files));
        }
    }

    /// Sets the bit of a file of the table.
    #[inline]
    pub(crate) fn set(&mut self, file: usize, may_contain: bool) {
        let bit = 1 << (file % 64);
        let word = &mut self.words[file / 64];
        *word = if may_contain { *word | bit } else { *word & !bit };
    }
}

/// Returns the numbers of the bits that are set, in ascending order.
#[inline]
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit as usize)
    })
}
