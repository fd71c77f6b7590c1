//! The seed corpora: made by this code alone, the same bytes each time, and checked in.

mod blocks;
mod store;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// What the names of inputs begin with that showed a defect once. They are checked in, and stay as they are.
const FOUND: &str = "found-";

/// Inputs by target and name. Seeds have a hyphen in their names; what a run of the fuzzer adds has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seeds(BTreeMap<(&'static str, String), Vec<u8>>);

impl Seeds {
    fn add(&mut self, target: &'static str, name: &str, input: &[u8]) {
        assert!(name.contains('-') && !name.starts_with(FOUND), "{name}");
        let other = self.0.insert((target, name.to_owned()), input.to_vec());
        assert_eq!(other, None, "{target} has two seeds {name}");
    }

    /// All of them.
    ///
    /// # Errors
    /// Where the library refuses to make one, or a golden file cannot be read.
    pub fn make() -> Result<Self, Box<dyn Error>> {
        let mut seeds = Self::default();
        blocks::add(&mut seeds)?;
        store::add(&mut seeds)?;
        Ok(seeds)
    }

    /// Those that are checked in.
    ///
    /// # Errors
    /// The system's.
    pub fn read() -> std::io::Result<Self> {
        let mut seeds = Self::default();
        for (target, _) in crate::targets::ALL {
            for path in inputs(&corpus(target))? {
                let name = file_name(&path);
                if name.contains('-') && !name.starts_with(FOUND) {
                    seeds.0.insert((target, name), fs::read(path)?);
                }
            }
        }
        Ok(seeds)
    }

    /// Writes them in place of those that are there.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self) -> std::io::Result<()> {
        for (target, name) in Self::read()?.0.into_keys() {
            fs::remove_file(corpus(target).join(name))?;
        }
        for ((target, name), input) in &self.0 {
            fs::create_dir_all(corpus(target))?;
            fs::write(corpus(target).join(name), input)?;
        }
        Ok(())
    }

    /// Target, name and input of each.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str, &[u8])> {
        self.0.iter().map(|((target, name), input)| (*target, name.as_str(), input.as_slice()))
    }
}

/// Where a target's inputs are.
pub fn corpus(target: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "corpus", target].iter().collect()
}

/// The inputs of a directory, in order; none of one that does not exist.
///
/// # Errors
/// The system's.
pub fn inputs(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

/// The last part of a path.
pub fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
