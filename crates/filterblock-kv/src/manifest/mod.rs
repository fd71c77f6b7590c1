//! The manifest: which tables, filters and logs make up the store.
//!
//! A log of edits; each record changes the state as a whole or not at all, and is durable before anything relies on it.
//! The file is rewritten, as one record of the current state, whenever the store is opened and when the file has grown:
//! `MANIFEST.tmp` is written and synced, renamed, and the directory synced.

mod edit;

pub(crate) use edit::{Edit, HasherId, LogState, NUM_LEVELS, Rows, State, TableState, search_order};

use super::error::Error;
use super::log::{LogContents, LogKind, LogWriter};
use super::storage::Storage;
use std::io;
use std::sync::Arc;

pub(crate) const MANIFEST_NAME: &str = "MANIFEST";
pub(crate) const MANIFEST_TMP_NAME: &str = "MANIFEST.tmp";
/// About this many bytes of edits may follow the state that they change.
const MAX_EDITS_LEN: u64 = 256 << 10;

/// The state that the manifest in `storage` describes.
///
/// # Errors
/// [`Error::Io`], [`Error::NewerVersion`], [`Error::Damaged`].
pub(crate) fn read(storage: &dyn Storage) -> Result<State, Error> {
    let log = LogContents::read(storage, MANIFEST_NAME, 0, LogKind::Manifest, None)?;
    let mut state: Option<State> = None;
    for (offset, payload) in log.payloads() {
        let edits = edit::decode(payload).map_err(|damage| Error::damaged(&log.file, offset, damage))?;
        let changed = state.unwrap_or_default().applied(&edits);
        state = Some(changed.map_err(|damage| Error::damaged(&log.file, offset, damage))?);
    }
    // A manifest has had at least one record of edits since before it was given its name.
    let damage = super::error::Damage::CutOff { unit: "manifest", actual_bytes: log.len() };
    let state = state.ok_or_else(|| Error::damaged(&log.file, 0, damage))?;
    Ok(State { generation: log.number, ..state })
}

/// The manifest of an open store.
#[derive(Debug)]
pub(crate) struct Manifest {
    storage: Arc<dyn Storage>,
    pub(crate) state: State,
    log: LogWriter,
    /// Length of the file when it was last rewritten.
    base_len: u64,
}

impl Manifest {
    /// Replaces the manifest with the next generation, of `state`, durably.
    pub(crate) fn create(storage: Arc<dyn Storage>, mut state: State) -> Result<Self, Error> {
        let mut log = write(&*storage, &state)?;
        state.generation = state.generation.wrapping_add(1);
        publish(&*storage, &mut log)?;
        let base_len = log.len();
        Ok(Self { storage, state, log, base_len })
    }

    /// Applies `edits` all at once; they are durable when this returns.
    ///
    /// # Errors
    /// [`Failed`], which knows whether the edits may be durable nevertheless.
    pub(crate) fn commit(&mut self, edits: &[Edit]) -> Result<(), Failed> {
        let state = self.state.clone().applied(edits);
        let mut state =
            state.map_err(|damage| Error::damaged(MANIFEST_NAME, self.log.len(), damage)).map_err(in_doubt)?;
        let is_long = self.log.len() > self.base_len.saturating_mul(2).saturating_add(MAX_EDITS_LEN);
        let rewritten = match is_long || self.log.is_broken {
            true => match write(&*self.storage, &state) {
                Ok(log) => Some(log),
                // There is no room for a whole manifest, but there may be room for a record.
                Err(_) if !self.log.is_broken => None,
                Err(error) => return Err(Failed { error, in_doubt: false }),
            },
            false => None,
        };
        match rewritten {
            Some(mut log) => {
                publish(&*self.storage, &mut log).map_err(in_doubt)?;
                state.generation = state.generation.wrapping_add(1);
                self.base_len = log.len();
                self.log = log;
            }
            None => {
                self.log.push(&edit::encode(edits));
                // A full disk may have stored a part of a record, which no reader treats as one.
                self.log.append().map_err(|error| Failed { in_doubt: !is_out_of_space(&error), error })?;
                self.log.sync().map_err(in_doubt)?;
            }
        }
        self.state = state;
        Ok(())
    }
}

/// Why edits were not made.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: Error,
    /// Whether a reader may find them in the manifest nevertheless.
    pub(crate) in_doubt: bool,
}

fn in_doubt(error: Error) -> Failed {
    Failed { error, in_doubt: true }
}

/// Returns whether a write failed for lack of space, so that not all of it was written.
fn is_out_of_space(error: &Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error, Error::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
}

/// Writes the next generation of `state`'s manifest, which does not have its name yet. After the greatest number, which a
/// damaged or foreign manifest may have, comes 0.
fn write(storage: &dyn Storage, state: &State) -> Result<LogWriter, Error> {
    storage.remove(MANIFEST_TMP_NAME).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(Error::io(MANIFEST_TMP_NAME, "remove", error)),
    })?;
    let write = || {
        let mut log =
            LogWriter::create(storage, MANIFEST_TMP_NAME, state.generation.wrapping_add(1), LogKind::Manifest)?;
        log.push(&edit::encode(&state.as_edits()));
        log.append()?;
        log.sync()?;
        Ok(log)
    };
    // If the removal fails, too, it is tried again before the next manifest is written.
    write().inspect_err(|_| drop(storage.remove(MANIFEST_TMP_NAME)))
}

/// Makes a written manifest the store's.
fn publish(storage: &dyn Storage, log: &mut LogWriter) -> Result<(), Error> {
    log.rename(storage, MANIFEST_NAME)?;
    storage.sync_dir().map_err(|error| Error::io(MANIFEST_NAME, "sync the directory", error))
}

#[cfg(test)]
mod tests {
    use super::super::storage::FileStorage;
    use super::{Arc, Edit, Manifest, State, Storage, read};

    #[test]
    fn after_the_greatest_generation_comes_zero() {
        let dir = tempfile::tempdir().unwrap();
        let storage: Arc<dyn Storage> = Arc::new(FileStorage::open(dir.path()).unwrap());
        for generation in [u64::MAX - 1, u64::MAX] {
            let state = State { generation, ..State::default() };
            let mut manifest = Manifest::create(Arc::clone(&storage), state).unwrap();
            assert_eq!(read(&*storage).unwrap().generation, generation.wrapping_add(1));
            manifest.log.is_broken = true;
            manifest.commit(&[Edit::NextNumber(7)]).map_err(|failed| failed.error).unwrap();
            let state = read(&*storage).unwrap();
            assert_eq!((state.generation, state.next_number), (generation.wrapping_add(2), 7));
            assert_eq!(state, manifest.state);
        }
    }
}
