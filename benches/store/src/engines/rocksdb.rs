//! RocksDB, through the C interface of its shared library. All settings are in one string.

use crate::cells::{Key, PREFIX_LEN, ROW_LEN};
use crate::engine::{Counts, Engine, Settings};
use crate::filters::{Filter, Residence};
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
    fn rocksdb_options_enable_statistics(options: *mut c_void);
    fn rocksdb_options_statistics_get_string(options: *mut c_void) -> *mut c_char;
    fn rocksdb_property_value(db: *mut c_void, name: *const c_char) -> *mut c_char;
    fn rocksdb_open(options: *const c_void, path: *const c_char, error: *mut *mut c_char) -> *mut c_void;
    fn rocksdb_close(db: *mut c_void);
    safe fn rocksdb_writeoptions_create() -> *mut c_void;
    fn rocksdb_writeoptions_destroy(options: *mut c_void);
    safe fn rocksdb_readoptions_create() -> *mut c_void;
    fn rocksdb_readoptions_destroy(options: *mut c_void);
    fn rocksdb_readoptions_set_prefix_same_as_start(options: *mut c_void, value: c_uchar);
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
    fn rocksdb_iter_seek(iterator: *mut c_void, key: *const u8, key_len: usize);
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
    /// For scans that end with the prefix at which they started.
    scanning: *mut c_void,
    counts: bool,
}

// SAFETY: the library documents its database and options as safe for concurrent use by threads; nothing here changes
// the options once they are made.
unsafe impl Send for Rocksdb {}
// SAFETY: the library documents its database and options as safe for concurrent use by threads, see `Send`.
unsafe impl Sync for Rocksdb {}

/// RocksDB sizes a Ribbon filter by the bits of a Bloom filter of the same rate. With these it takes
/// `Settings::BITS_PER_KEY` itself.
const RIBBON_BLOOM_BITS: f64 = 14.65;

fn settings_text(settings: &Settings) -> String {
    let Settings { memtable_bytes, cache_bytes, table_bytes, level0_tables, .. } = settings;
    let (bits, block_bytes, ratio) = (Settings::BITS_PER_KEY, Settings::BLOCK_BYTES, Settings::LEVEL_RATIO);
    let level_base_bytes = settings.level_base_bytes();
    let filter = match settings.filters.filter {
        Filter::None => "nullptr".to_owned(),
        // -1: also in the tables that flushes write.
        Filter::Ribbon => format!("ribbonfilter:{RIBBON_BLOOM_BITS}:-1"),
        _ => format!("bloomfilter:{bits}:false"),
    };
    let are_cached = matches!(settings.filters.residence, Residence::Partitioned | Residence::Disk);
    // Filters can be partitioned, or be in the cache, only together with the indexes. The index of the partitions stays
    // in memory.
    let partitions = match settings.filters.residence {
        Residence::Partitioned => format!(
            "partition_filters=true;index_type=kTwoLevelIndexSearch;metadata_block_size={block_bytes};\
             pin_top_level_index_and_filter=true;"
        ),
        _ => String::new(),
    };
    let prefixes = if settings.has_prefixes { format!("prefix_extractor=fixed:{PREFIX_LEN};") } else { String::new() };
    format!(
        "create_if_missing=true;compression=kNoCompression;compaction_style=kCompactionStyleLevel;\
         write_buffer_size={memtable_bytes};target_file_size_base={table_bytes};\
         max_bytes_for_level_base={level_base_bytes};max_bytes_for_level_multiplier={ratio};\
         level0_file_num_compaction_trigger={level0_tables};{prefixes}\
         block_based_table_factory={{block_size={block_bytes};block_cache={cache_bytes};{partitions}\
         filter_policy={filter};whole_key_filtering=true;cache_index_and_filter_blocks={are_cached}}}"
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
    if settings.counts {
        // SAFETY: `options` is alive.
        unsafe { rocksdb_options_enable_statistics(options) };
    }
    Ok(options)
}

pub fn open(dir: &Path, settings: &Settings) -> Result<Box<dyn Engine>> {
    let options = options(settings)?;
    let path = CString::new(dir.as_os_str().as_encoded_bytes())?;
    // SAFETY: `options` is alive, and `path` ends in a zero.
    let db = checked(|error| unsafe { rocksdb_open(options, path.as_ptr(), error) })?;
    let db = NonNull::new(db).context("RocksDB has opened nothing")?;
    let (writing, reading) = (rocksdb_writeoptions_create(), rocksdb_readoptions_create());
    let scanning = rocksdb_readoptions_create();
    // SAFETY: `scanning` is alive.
    unsafe { rocksdb_readoptions_set_prefix_same_as_start(scanning, 1) };
    Ok(Box::new(Rocksdb { db, options, writing, reading, scanning, counts: settings.counts }))
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
            rocksdb_readoptions_destroy(self.scanning);
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
        self.iterate(self.reading, None, seen)
    }

    fn scan_prefix(&self, prefix: &[u8], seen: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        self.iterate(self.scanning, Some(prefix), seen)
    }

    fn flush(&self) -> Result<()> {
        let options = rocksdb_flushoptions_create();
        // SAFETY: database and options are alive; the latter are freed once, after their use.
        let flushed = checked(|error| unsafe { rocksdb_flush(self.db.as_ptr(), options, error) });
        // SAFETY: `options` came from `rocksdb_flushoptions_create`, and its only use, the flush, has returned.
        unsafe { rocksdb_flushoptions_destroy(options) };
        flushed
    }

    fn compact(&self) -> Result<()> {
        // SAFETY: the database is alive; a range without bounds is the whole range.
        unsafe { rocksdb_compact_range(self.db.as_ptr(), null(), 0, null(), 0) };
        Ok(())
    }

    fn counts(&self) -> Result<Counts> {
        if !self.counts {
            return Ok(Counts::default());
        }
        // SAFETY: the options are alive and have statistics; the string is the library's.
        let text = unsafe { take_string(rocksdb_options_statistics_get_string(self.options)) };
        let text = text.context("RocksDB has no statistics")?;
        let of = |name: &str| ticker(&text, name).with_context(|| format!("RocksDB does not count {name}"));
        let positives = of("bloom.filter.full.positive")?;
        let prefix_probes = of("bloom.filter.prefix.checked")?;
        let prefix_negatives = of("bloom.filter.prefix.useful")?;
        let false_positives = positives - of("bloom.filter.full.true.positive")?;
        Ok(Counts {
            data_reads: Some(of("block.cache.data.miss")?),
            data_bytes: Some(of("block.cache.data.bytes.insert")?),
            index_reads: Some(of("block.cache.index.miss")?),
            filter_reads: Some(of("block.cache.filter.miss")?),
            filter_bytes: Some(of("block.cache.filter.bytes.insert")?),
            negatives: Some(of("bloom.filter.useful")? + prefix_negatives),
            positives: Some(positives + prefix_probes - prefix_negatives),
            // RocksDB does not count which prefixes were present.
            false_positives: (prefix_probes == 0).then_some(false_positives),
        })
    }

    fn filter_bytes(&self) -> Result<u64> {
        let name = c"rocksdb.aggregated-table-properties";
        // SAFETY: the database is alive, the name ends in a zero, and the string is the library's.
        let text = unsafe { take_string(rocksdb_property_value(self.db.as_ptr(), name.as_ptr())) };
        let text = text.context("RocksDB has no table properties")?;
        let bytes =
            text.split_once("filter block size=").and_then(|(_, rest)| rest.split(';').next()?.trim().parse().ok());
        bytes.with_context(|| format!("no size of filters in {text}"))
    }
}

/// A count in the text of the library's statistics, as in `rocksdb.bloom.filter.useful COUNT : 12`.
fn ticker(text: &str, name: &str) -> Option<u64> {
    let of_line =
        |line: &str| line.strip_prefix("rocksdb.")?.strip_prefix(name)?.strip_prefix(" COUNT : ")?.parse().ok();
    text.lines().find_map(of_line)
}

impl Rocksdb {
    /// Passes on the cells from `start`, or all, for as long as the iterator has any under these options.
    fn iterate(&self, options: *const c_void, start: Option<&[u8]>, seen: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        // SAFETY: the iterator goes before the database and the options; keys and values are alive until it moves on.
        unsafe {
            let iterator = rocksdb_create_iterator(self.db.as_ptr(), options);
            match start {
                Some(start) => rocksdb_iter_seek(iterator, start.as_ptr(), start.len()),
                None => rocksdb_iter_seek_to_first(iterator),
            }
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
}
