//! RocksDB, through the C interface of its shared library. All settings are in one string.

use crate::cells::{Key, ROW_LEN};
use crate::engine::{Engine, Settings};
use anyhow::{Context, Result, bail};
use std::ffi::{CStr, CString, c_char, c_uchar, c_void};
use std::path::Path;
use std::ptr::{NonNull, null, null_mut};

// `rocksdb/c.h`, as far as it is needed. Objects are opaque; the caller frees the string at `error`.
#[link(name = "rocksdb")]
unsafe extern "C" {
    safe fn rocksdb_options_create() -> *mut c_void;
    fn rocksdb_options_destroy(options: *mut c_void);
    fn rocksdb_get_options_from_string(
        base: *const c_void,
        text: *const c_char,
        options: *mut c_void,
        error: *mut *mut c_char,
    );
    fn rocksdb_open(options: *const c_void, path: *const c_char, error: *mut *mut c_char) -> *mut c_void;
    fn rocksdb_close(db: *mut c_void);
    safe fn rocksdb_writeoptions_create() -> *mut c_void;
    fn rocksdb_writeoptions_destroy(options: *mut c_void);
    safe fn rocksdb_readoptions_create() -> *mut c_void;
    fn rocksdb_readoptions_destroy(options: *mut c_void);
    fn rocksdb_put(
        db: *mut c_void,
        options: *const c_void,
        key: *const u8,
        key_len: usize,
        value: *const u8,
        value_len: usize,
        error: *mut *mut c_char,
    );
    fn rocksdb_get_pinned(
        db: *mut c_void,
        options: *const c_void,
        key: *const u8,
        key_len: usize,
        error: *mut *mut c_char,
    ) -> *mut c_void;
    fn rocksdb_pinnableslice_value(slice: *const c_void, len: *mut usize) -> *const u8;
    fn rocksdb_pinnableslice_destroy(slice: *mut c_void);
    safe fn rocksdb_flushoptions_create() -> *mut c_void;
    fn rocksdb_flushoptions_destroy(options: *mut c_void);
    fn rocksdb_flush(db: *mut c_void, options: *const c_void, error: *mut *mut c_char);
    fn rocksdb_compact_range(db: *mut c_void, start: *const u8, start_len: usize, limit: *const u8, limit_len: usize);
    fn rocksdb_create_iterator(db: *mut c_void, options: *const c_void) -> *mut c_void;
    fn rocksdb_iter_destroy(iterator: *mut c_void);
    fn rocksdb_iter_seek_to_first(iterator: *mut c_void);
    fn rocksdb_iter_valid(iterator: *const c_void) -> c_uchar;
    fn rocksdb_iter_next(iterator: *mut c_void);
    fn rocksdb_iter_key(iterator: *const c_void, len: *mut usize) -> *const u8;
    fn rocksdb_iter_value(iterator: *const c_void, len: *mut usize) -> *const u8;
    fn rocksdb_iter_get_error(iterator: *const c_void, error: *mut *mut c_char);
    fn rocksdb_free(memory: *mut c_void);
}

/// Frees the library's string.
///
/// # Safety
/// `text` is null or a string that the library handed over.
unsafe fn take_string(text: *mut c_char) -> Option<String> {
    let text = NonNull::new(text)?;
    // SAFETY: the library's strings end in a zero; this one is freed once, after it was copied.
    unsafe {
        let copy = CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned();
        rocksdb_free(text.as_ptr().cast());
        Some(copy)
    }
}

/// Makes a call that reports an error through its last argument.
fn checked<T>(call: impl FnOnce(*mut *mut c_char) -> T) -> Result<T> {
    let mut error = null_mut();
    let result = call(&raw mut error);
    // SAFETY: the call has left the pointer alone or stored a string of its own.
    match unsafe { take_string(error) } {
        Some(error) => bail!("RocksDB: {error}"),
        None => Ok(result),
    }
}

struct Rocksdb {
    db: NonNull<c_void>,
    options: *mut c_void,
    writing: *mut c_void,
    reading: *mut c_void,
}

// SAFETY: the library documents its database and options as safe for concurrent use by threads; nothing here changes
// the options once they are made.
unsafe impl Send for Rocksdb {}
// SAFETY: see `Send`.
unsafe impl Sync for Rocksdb {}

fn settings_text(settings: &Settings) -> String {
    let Settings { memtable_bytes, cache_bytes, table_bytes, .. } = settings;
    let (bits, block_bytes) = (Settings::BITS_PER_KEY, Settings::BLOCK_BYTES);
    let (level0_tables, ratio) = (Settings::LEVEL0_TABLES, Settings::LEVEL_RATIO);
    let level_base_bytes = settings.level_base_bytes();
    format!(
        "create_if_missing=true;compression=kNoCompression;compaction_style=kCompactionStyleLevel;\
         write_buffer_size={memtable_bytes};target_file_size_base={table_bytes};\
         max_bytes_for_level_base={level_base_bytes};max_bytes_for_level_multiplier={ratio};\
         level0_file_num_compaction_trigger={level0_tables};\
         block_based_table_factory={{block_size={block_bytes};block_cache={cache_bytes};\
         filter_policy=bloomfilter:{bits}:false;whole_key_filtering=true;cache_index_and_filter_blocks=false}}"
    )
}

fn options(settings: &Settings) -> Result<*mut c_void> {
    let text = CString::new(settings_text(settings))?;
    let (base, options) = (rocksdb_options_create(), rocksdb_options_create());
    // SAFETY: both are new options, and `text` ends in a zero.
    let parsed = checked(|error| unsafe { rocksdb_get_options_from_string(base, text.as_ptr(), options, error) });
    // SAFETY: nothing refers to `base`.
    unsafe { rocksdb_options_destroy(base) };
    parsed.context(text.to_string_lossy().into_owned())?;
    Ok(options)
}

pub fn open(dir: &Path, settings: &Settings) -> Result<Box<dyn Engine>> {
    let options = options(settings)?;
    let path = CString::new(dir.as_os_str().as_encoded_bytes())?;
    // SAFETY: `options` is alive, and `path` ends in a zero.
    let db = checked(|error| unsafe { rocksdb_open(options, path.as_ptr(), error) })?;
    let db = NonNull::new(db).context("RocksDB has opened nothing")?;
    let (writing, reading) = (rocksdb_writeoptions_create(), rocksdb_readoptions_create());
    Ok(Box::new(Rocksdb { db, options, writing, reading }))
}

/// The version and build as stated in the log in `dir`.
pub fn version(dir: &Path) -> Option<String> {
    let log = std::fs::read(dir.join("LOG")).ok()?;
    let log = String::from_utf8_lossy(&log);
    let after = |name| log.lines().find_map(|line| Some(line.split_once(name)?.1.trim().to_owned()));
    Some(format!("{}, fast CRC-32C: {}", after("RocksDB version: ")?, after("Fast CRC32 supported: ")?))
}

impl Drop for Rocksdb {
    fn drop(&mut self) {
        // SAFETY: all are alive, and each is freed once; the database goes first.
        unsafe {
            rocksdb_close(self.db.as_ptr());
            rocksdb_writeoptions_destroy(self.writing);
            rocksdb_readoptions_destroy(self.reading);
            rocksdb_options_destroy(self.options);
        }
    }
}

impl Engine for Rocksdb {
    fn put(&self, key: &Key, value: &[u8]) -> Result<()> {
        let (db, key) = (self.db.as_ptr(), key.joined());
        // SAFETY: database and options are alive; key and value are copied.
        checked(|error| unsafe {
            rocksdb_put(db, self.writing, key.as_ptr(), key.len(), value.as_ptr(), value.len(), error);
        })
    }

    fn get(&self, key: &Key, seen: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        let (db, key) = (self.db.as_ptr(), key.joined());
        // SAFETY: database and options are alive.
        let slice = checked(|error| unsafe { rocksdb_get_pinned(db, self.reading, key.as_ptr(), key.len(), error) })?;
        if slice.is_null() {
            seen(None);
            return Ok(());
        }
        let mut len = 0;
        // SAFETY: the slice is alive until it is freed, once, after its last use.
        unsafe {
            let value = rocksdb_pinnableslice_value(slice, &raw mut len);
            seen(Some(std::slice::from_raw_parts(value, len)));
            rocksdb_pinnableslice_destroy(slice);
        }
        Ok(())
    }

    fn scan(&self, seen: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        // SAFETY: the iterator goes before the database; keys and values are alive until it moves on.
        unsafe {
            let iterator = rocksdb_create_iterator(self.db.as_ptr(), self.reading);
            rocksdb_iter_seek_to_first(iterator);
            while rocksdb_iter_valid(iterator) != 0 {
                let (mut key_len, mut value_len) = (0, 0);
                let key = rocksdb_iter_key(iterator, &raw mut key_len);
                let value = rocksdb_iter_value(iterator, &raw mut value_len);
                let key = std::slice::from_raw_parts(key, key_len);
                seen(&key[..ROW_LEN.min(key_len)], std::slice::from_raw_parts(value, value_len));
                rocksdb_iter_next(iterator);
            }
            let result = checked(|error| rocksdb_iter_get_error(iterator, error));
            rocksdb_iter_destroy(iterator);
            result
        }
    }

    fn flush_and_compact(&self) -> Result<()> {
        let (db, options) = (self.db.as_ptr(), rocksdb_flushoptions_create());
        // SAFETY: database and options are alive; the latter are freed once, after their use.
        let flushed = checked(|error| unsafe { rocksdb_flush(db, options, error) });
        // SAFETY: database and options are alive, the options are freed once; a range without bounds is the whole
        // range.
        unsafe {
            rocksdb_flushoptions_destroy(options);
            flushed?;
            rocksdb_compact_range(db, null(), 0, null(), 0);
        }
        Ok(())
    }
}
