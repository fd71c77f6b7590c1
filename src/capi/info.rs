//! What a block states of itself.

use super::border::{caught_or, hash_key};
use super::counters::put_sized;
use super::reader::Reader;
use super::status::Status;
use core::ffi::c_void;

/// What a block states of itself. Later versions append fields.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Info {
    /// `sizeof(filterblock_info)`, set by the caller. Lowered to the bytes that an older library has written.
    pub size: usize,
    /// Distinct entries.
    pub num_entries: u64,
    /// Length of the block in bytes.
    pub block_len: u64,
    /// The seed, or the id of the secret key.
    pub seed: u64,
    /// One of `FILTERBLOCK_KIND_*`, or that of a kind which is newer than the header.
    pub kind: u32,
    /// The hash function: 1 is XXH3 with a seed, 2 is SipHash under a secret key.
    pub hash_id: u32,
    /// The key transform's id in the format.
    pub transform_id: u32,
    /// The key transform's parameter.
    pub transform_param: u32,
    /// The most columns that queries compare of a key; 0 for kinds without columns.
    pub num_columns: u32,
    /// The most columns that the filter was built with, if it was thinned since, otherwise 0.
    pub thinned_from: u32,
    /// Probes made for a key, for the kinds that probe bits, otherwise 0.
    pub num_probes: u32,
    /// 1 if the number of entries is an estimate, otherwise 0.
    pub entries_estimated: u32,
}

/// The size in the first version of the interface.
const INFO_MIN_SIZE: usize = size_of::<Info>();

/// Reads what the block states. Set `info->size` before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_info(reader: Option<&Reader>, info: *mut Info) -> Status {
    let Some(Reader { filter, .. }) = reader else { return Status::Argument };
    let (transform_id, transform_param) = filter.transform().to_wire();
    let read = Info {
        size: 0,
        num_entries: filter.num_entries(),
        block_len: filter.block_len() as u64,
        seed: filter.hasher().seed(),
        kind: filter.kind().tag().into(),
        hash_id: filter.hasher().hash_id().into(),
        transform_id: transform_id.into(),
        transform_param: transform_param.into(),
        num_columns: filter.num_columns().unwrap_or(0),
        thinned_from: filter.thinned_from().unwrap_or(0),
        num_probes: filter.num_probes().unwrap_or(0),
        entries_estimated: filter.entries_estimated().into(),
    };
    // SAFETY: rule 1 of the interface, with the length that the caller states.
    unsafe { put_sized(info, read, INFO_MIN_SIZE) }
}

/// The rate at which absent keys pass, computed from the payload, all of which is read. 1 of a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_reader_false_positive_rate(reader: Option<&Reader>) -> f64 {
    caught_or(1.0, || reader.map_or(1.0, |reader| reader.filter.false_positive_rate()))
}

/// As `filterblock_policy_hash_key`, under the hash and transform of the block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_hash_key(
    reader: Option<&Reader>,
    key: *const c_void,
    key_len: usize,
    hash: *mut u64,
) -> bool {
    // SAFETY: rule 1 of the interface.
    unsafe { hash_key(reader.map(|reader| reader.filter.entry_hasher()), key, key_len, hash) }
}
