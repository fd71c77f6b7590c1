//! Bytes that begin at a cache line, as a block cache uses them, with and without huge pages.

use crate::*;

/// Length of a cache line in bytes.
const LINE_LEN: usize = 64;
/// Around the lengths of cache lines, small pages and huge pages, and more than one huge page.
const LENS: [usize; 14] =
    [0, 1, 63, 64, 65, 4_095, 4_096, 4_097, 1 << 20, HUGE - 1, HUGE, HUGE + 1, 2 * HUGE - 64, 3 * HUGE + 7];
/// Length of a huge page in bytes.
const HUGE: usize = 2 << 20;

fn is_aligned(bytes: &AlignedBytes) -> bool {
    bytes.as_ref().as_ptr().addr() % LINE_LEN == 0
}

#[test]
fn bytes_are_aligned_zero_and_writable_to_the_last() {
    for len in LENS {
        let mut bytes = AlignedBytes::zeroed(len);
        assert!(is_aligned(&bytes), "{len}");
        assert_eq!((bytes.as_ref().len(), bytes.as_mut().len()), (len, len));
        assert!(bytes.as_ref().iter().all(|&byte| byte == 0), "{len}");
        assert_eq!(bytes.as_ref().as_ptr(), bytes.as_mut().as_ptr());
        for (at, byte) in bytes.as_mut().iter_mut().enumerate() {
            *byte = (at % 253) as u8;
        }
        // Moving their owner does not move the bytes.
        let address = bytes.as_ref().as_ptr();
        let moved = Box::new([bytes]);
        assert_eq!(moved[0].as_ref().as_ptr(), address);
        assert!(moved[0].as_ref().iter().enumerate().all(|(at, &byte)| byte == (at % 253) as u8), "{len}");
    }
    // Each of many is.
    let many: Vec<AlignedBytes> = (0..500).map(|len| AlignedBytes::copy_of(&vec![7; len])).collect();
    assert!(many.iter().all(is_aligned));
    assert!(many.iter().enumerate().all(|(len, bytes)| bytes.as_ref() == vec![7; len]));
}

/// A filter in aligned bytes answers like one in a vector: each kind, small, and large enough for huge pages.
#[test]
fn filters_in_aligned_bytes_answer_as_in_vectors() {
    for &kind in FilterKind::ALL {
        // A slot of ribbon or fuse has at most 32 bits.
        let most = if [FilterKind::Ribbon, FilterKind::Fuse].contains(&kind) { 600_000 } else { 300_000 };
        for num_entries in [0, 1, 1_000, most] {
            let policy = sized(kind, 64.0);
            let members: Vec<u64> = numbers(501).take(num_entries).collect();
            let block = block_of(policy, &members);
            assert!(num_entries < most || block.len() >= 2 << 20 || kind == FilterKind::Golomb);
            let filter = OpenOptions::new().open_owned(AlignedBytes::copy_of(&block)).expect("intact");
            let elsewhere = OpenOptions::new().open_owned(block.clone()).expect("intact");
            // Moved to another thread, as a cache does.
            let filter = std::thread::spawn(move || filter).join().expect("no panic");
            assert_eq!(filter.as_bytes(), block);
            let queried = hashes(numbers(502).take(2_000).chain(members.iter().copied().take(2_000)));
            for &hash in &queried {
                assert_eq!(filter.may_contain_hash(hash), elsewhere.may_contain_hash(hash));
            }
            assert!(queried[2_000..].iter().all(|&hash| filter.may_contain_hash(hash)), "{kind}");
            let bytes = filter.into_inner();
            assert!(is_aligned(&bytes) && bytes.as_ref() == block);
        }
    }
}

/// Bytes can be read into place, and damage to them is an error as anywhere.
#[test]
fn blocks_are_read_into_place() {
    let block = block_of(sized(FilterKind::Blocked, 10.0), &[1, 2, 3]);
    let mut bytes = AlignedBytes::zeroed(block.len());
    std::io::Read::read_exact(&mut &block[..], bytes.as_mut()).expect("enough bytes");
    let mut bytes = OpenOptions::new().open_owned(bytes).expect("intact").into_inner();
    bytes.as_mut()[70] ^= 1;
    let error = OpenOptions::new().open_owned(bytes).expect_err("damaged");
    assert!(matches!(error, DecodeError::PayloadDigest { .. }), "{error}");
    let error = OpenOptions::new().open_owned(AlignedBytes::zeroed(0)).expect_err("no block");
    assert!(matches!(error, DecodeError::TooShort { .. }), "{error}");
}

/// Bytes that can be made shorter or longer behind a filter's back.
pub struct Changing {
    pub bytes: Vec<u8>,
    pub start: std::cell::Cell<usize>,
    pub len: std::cell::Cell<usize>,
}

impl AsRef<[u8]> for &Changing {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.start.get()..][..self.len.get()]
    }
}

/// Probes without bounds checks rely on the length: a query of bytes whose length has changed panics, whatever the
/// kind.
#[test]
fn bytes_that_change_their_length_are_noticed() {
    for (&kind, num_keys) in FilterKind::ALL.iter().flat_map(|kind| [(kind, 0), (kind, 1000)]) {
        let mut builder = builder_of(&sized(kind, 10.0), decimals(num_keys));
        let mut bytes = builder.allow_empty().finish().expect("a block");
        let len = bytes.len();
        bytes.resize(2 * len, 0);
        let changing = Changing { bytes, start: 0.into(), len: len.into() };
        let filter = OpenOptions::new().open_owned(&changing).expect("a sound block");
        for other in [0, 1, 63, 64, 65, 127, 128, len - 64, len - 1, len + 1, len + 64, 2 * len] {
            changing.len.set(other);
            let query = || filter.may_contain(b"7");
            let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(query));
            assert_eq!(answer.is_err(), other != len, "{kind}: {other} bytes instead of {len}");
            let hash = filter.entry_hasher().hasher().hash(b"7");
            let query = || filter.may_contain_hashes(&[hash], &mut [false]);
            let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(query));
            assert_eq!(answer.is_err(), other != len, "{kind}: {other} bytes instead of {len}, many queries");
        }
        changing.len.set(len);
        assert_eq!(filter.may_contain(b"7"), num_keys > 0);
    }
}
