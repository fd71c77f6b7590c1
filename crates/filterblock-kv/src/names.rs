//! The names of a store's files.
//!
//! | name | file |
//! |---|---|
//! | `LOCK` | locked while the store is open |
//! | `MANIFEST` | the manifest |
//! | `000007.wal` | a write-ahead log |
//! | `000007.sst` | a table |
//! | `000007.flt` | a table's rebuilt filters |
//! | `*.tmp` | one of these that was never finished |
//! | `lost/` | files that a repair has replaced, which nothing reads |
//! A number is given to one file only, of any kind.

pub(crate) const LOCK_NAME: &str = "LOCK";
pub(crate) const TMP_SUFFIX: &str = ".tmp";

/// No store reaches this number; a file with a greater one is not its own.
pub(crate) const MAX_FILE_NUMBER: u64 = 1 << 53;

/// A file with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileName {
    Log(u64),
    Table(u64),
    Filters(u64),
}

impl FileName {
    const fn parts(self) -> (u64, &'static str) {
        match self {
            Self::Log(number) => (number, "wal"),
            Self::Table(number) => (number, "sst"),
            Self::Filters(number) => (number, "flt"),
        }
    }

    pub(crate) const fn number(self) -> u64 {
        self.parts().0
    }

    /// Parses a name; `None` for other files.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (digits, extension) = name.split_once('.')?;
        let number = digits.parse().ok().filter(|&number| number <= MAX_FILE_NUMBER)?;
        let file = match extension {
            "wal" => Self::Log(number),
            "sst" => Self::Table(number),
            "flt" => Self::Filters(number),
            _ => return None,
        };
        // Only the canonical spelling is accepted: otherwise two names could have one number.
        (file.to_string() == name).then_some(file)
    }

    /// The name while the file is being written.
    pub(crate) fn tmp(self) -> String {
        self.to_string() + TMP_SUFFIX
    }
}

impl core::fmt::Display for FileName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (number, extension) = self.parts();
        write!(f, "{number:06}.{extension}")
    }
}

#[cfg(test)]
mod tests {
    use super::FileName;

    #[test]
    fn names_have_one_spelling() {
        for file in [FileName::Log(1), FileName::Table(7), FileName::Filters(12_345_678)] {
            assert_eq!(FileName::parse(&file.to_string()), Some(file));
            assert_eq!(FileName::parse(&file.tmp()), None);
        }
        for name in ["7.sst", "0000007.sst", "+00007.sst", "000007", "18446744073709551615.sst", ".sst", "000007.txt"] {
            assert_eq!(FileName::parse(name), None, "{name}");
        }
    }
}
