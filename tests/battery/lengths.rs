//! Blocks that are too short or too long.

use crate::*;

const MAX_TRAILING: usize = 64;

/// The error required for the first `len` bytes of a block, or for a block extended to `len` bytes.
fn expected(sample: &Sample, len: usize) -> DecodeError {
    match len.checked_sub(HEADER_LEN) {
        None => DecodeError::TooShort { actual_bytes: len as u64, min_bytes: HEADER_LEN as u64 },
        Some(actual) => {
            let declared_bytes = (sample.bytes.len() - HEADER_LEN) as u64;
            DecodeError::PayloadLength { declared_bytes, actual_bytes: actual as u64 }
        }
    }
}

/// Opens `bytes` in every way; each must return `error` and allocate nothing.
fn assert_refused(bytes: &[u8], error: DecodeError) -> Allocated {
    let (outcomes, seen) = measured(|| {
        let checked = options().open(bytes).map(drop);
        let trusted = options().with_digest_check(false).open(bytes).map(drop);
        [checked, trusted, options().open_owned(bytes).map(drop)]
    });
    assert_eq!(outcomes, [Err(error); 3]);
    assert_eq!(error.class(), DecodeErrorClass::Damaged);
    seen
}

#[test]
fn every_truncation_is_an_error() {
    let (mut num_cuts, mut expected_cuts, mut worst) = (0, 0, Allocated::NOTHING);
    for sample in blocks() {
        for len in 0..sample.bytes.len() {
            let _case = Case((sample.kind, sample.bytes.len(), len));
            let error = expected(&sample, len);
            worst = worst.max(assert_refused(&sample.bytes[..len], error));
            if len % 16 == 0 {
                assert_complete_message(&error);
            }
            num_cuts += 1;
        }
        expected_cuts += sample.bytes.len() as u64;
    }
    assert_eq!((num_cuts, worst), (expected_cuts, Allocated::NOTHING));
    counted(&[(num_cuts, "truncations, each an error"), (worst.largest_bytes, "bytes allocated at most")]);
}

/// Appended bytes: zeros, as in a preallocated file; ones, as in erased flash; the block's own beginning, as in two
/// adjacent blocks.
#[test]
fn every_extension_is_an_error() {
    let (mut num_extensions, mut num_blocks, mut worst) = (0, 0, Allocated::NOTHING);
    for sample in blocks() {
        num_blocks += 1;
        let own = sample.bytes[..MAX_TRAILING].to_vec();
        for trailing in [vec![0; MAX_TRAILING], vec![0xff; MAX_TRAILING], own] {
            let mut longer = sample.bytes.clone();
            for byte in trailing {
                longer.push(byte);
                let _case = Case((sample.kind, sample.bytes.len(), longer.len()));
                let error = expected(&sample, longer.len());
                worst = worst.max(assert_refused(&longer, error));
                num_extensions += 1;
            }
        }
    }
    assert_eq!((num_extensions, worst), (num_blocks * 3 * MAX_TRAILING as u64, Allocated::NOTHING));
    counted(&[
        (num_extensions, "extensions by 1 to 64 bytes"),
        (num_blocks, "blocks, each an error"),
        (worst.largest_bytes, "bytes allocated at most"),
    ]);
}
