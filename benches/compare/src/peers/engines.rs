//! RocksDB's and LevelDB's filters, through the C ABI of `cpp/`.

use crate::keys::{KEY_LEN, Key};
use crate::peer::{Batches, Caller, Filter, Peer, Size};
use anyhow::{Context, Result};
use std::ffi::{CStr, c_char};
use std::ptr::NonNull;

/// The C++ side's `Engine`.
#[repr(C)]
struct Raw {
    opaque: [u8; 0],
}

/// Bits per key, keys, their number; null if the library refuses.
type RawBuild = unsafe extern "C" fn(f64, *const Key, usize) -> *mut Raw;

unsafe extern "C" {
    safe fn rocksdb_version() -> *const c_char;
    fn flb_build(bits_per_key: f64, keys: *const Key, num_keys: usize) -> *mut Raw;
    #[cfg(rocksdb_src)]
    fn flb_avx2_build(bits_per_key: f64, keys: *const Key, num_keys: usize) -> *mut Raw;
    fn ribbon_build(bits_per_key: f64, keys: *const Key, num_keys: usize) -> *mut Raw;
    fn leveldb_build(bits_per_key: f64, keys: *const Key, num_keys: usize) -> *mut Raw;
    fn engine_free(engine: *mut Raw);
    fn engine_num_bytes(engine: *const Raw) -> usize;
    fn engine_query(engine: *const Raw, keys: *const Key, num_keys: usize, branching: bool) -> usize;
    fn engine_query_batches(engine: *const Raw, keys: *const Key, num_keys: usize, answers: *mut bool);
}

// As in cpp/engine.h.
const _: () = assert!(KEY_LEN == 16);

pub fn version() -> String {
    // SAFETY: the library returns a constant string that ends in a zero.
    unsafe { CStr::from_ptr(rocksdb_version()) }.to_string_lossy().into_owned()
}

struct Engine {
    raw: NonNull<Raw>,
    has_batches: bool,
}

impl Drop for Engine {
    fn drop(&mut self) {
        // SAFETY: `raw` came from a build function and is freed once.
        unsafe { engine_free(self.raw.as_ptr()) }
    }
}

impl Filter for Engine {
    fn num_bytes(&self) -> usize {
        // SAFETY: `raw` came from a build function and is freed only by `drop`.
        unsafe { engine_num_bytes(self.raw.as_ptr()) }
    }

    fn query(&self, keys: &[Key], caller: Caller) -> usize {
        // SAFETY: `raw` is alive, and reads as many keys as there are.
        unsafe { engine_query(self.raw.as_ptr(), keys.as_ptr(), keys.len(), caller == Caller::Branches) }
    }

    fn batches(&self) -> Option<&dyn Batches> {
        self.has_batches.then_some(self as &dyn Batches)
    }
}

impl Batches for Engine {
    fn query_batches(&self, keys: &[Key], answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "one answer for each key");
        // SAFETY: `raw` is alive, reads as many keys as there are and writes an answer for each.
        unsafe { engine_query_batches(self.raw.as_ptr(), keys.as_ptr(), keys.len(), answers.as_mut_ptr()) }
    }
}

fn engine(build: RawBuild, bits: u32, has_batches: bool, keys: &[Key]) -> Result<Box<dyn Filter>> {
    // SAFETY: `build` is one of the functions above and reads as many keys as there are.
    let raw = unsafe { build(f64::from(bits), keys.as_ptr(), keys.len()) };
    let raw = NonNull::new(raw).context("the library has built no filter")?;
    Ok(Box::new(Engine { raw, has_batches }))
}

fn rocksdb(kind: &'static str, bits: u32, size: Size, build: RawBuild) -> Peer {
    Peer { name: "RocksDB", kind, size, build: Box::new(move |keys| engine(build, bits, true, keys)) }
}

/// The kinds that take bits per key.
pub fn blooms(bits: u32) -> Vec<Peer> {
    let size = Size::Bits(bits);
    vec![
        rocksdb("FastLocalBloom", bits, size, flb_build),
        #[cfg(rocksdb_src)]
        rocksdb("FastLocalBloom AVX2", bits, size, flb_avx2_build),
        Peer {
            name: "LevelDB",
            kind: "bloom",
            size,
            build: Box::new(move |keys| engine(leveldb_build, bits, false, keys)),
        },
    ]
}

/// Ribbon is sized by the rate of a Bloom filter of the given bits per key.
pub fn ribbons() -> [Peer; 2] {
    [10, 16].map(|bits| rocksdb("Ribbon", bits, Size::Like(bits), ribbon_build))
}
