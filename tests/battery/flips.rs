//! Flipped bits: one and two, everywhere.

use crate::assembled::{crc32, masked_crc};
use crate::oracle::mix;
use crate::rules;
use crate::samples::lens;
use crate::*;

const HEADER_BITS: usize = HEADER_LEN * 8;
const MAGIC_BITS: usize = 64;

fn flip(block: &mut [u8], bit: usize) {
    block[bit / 8] ^= 1 << (bit % 8);
}

fn bit_is_set(block: &[u8], bit: usize) -> bool {
    block[bit / 8] >> (bit % 8) & 1 == 1
}

/// Whether `error` is the one required for damage whose first flipped bit is number `bit`.
fn is_error_of(error: &DecodeError, bit: usize) -> bool {
    match error {
        DecodeError::Magic { .. } => bit < MAGIC_BITS,
        DecodeError::HeaderChecksum { .. } => (MAGIC_BITS..HEADER_BITS).contains(&bit),
        DecodeError::PayloadDigest { .. } => bit >= HEADER_BITS,
        _ => false,
    }
}

/// Unrepaired damage is rejected as damage, by the check for its position. Some messages are compared.
#[test]
fn every_flipped_bit_is_an_error() {
    let (mut num_flips, mut num_blocks, mut worst) = (0, 0, Allocated::NOTHING);
    for mut sample in blocks() {
        num_blocks += 1;
        for bit in 0..sample.bytes.len() * 8 {
            flip(&mut sample.bytes, bit);
            let _case = Case((sample.kind, sample.bytes.len(), bit));
            let (opened, seen) = measured(|| options().open(&sample.bytes).map(drop));
            let error = opened.expect_err("a flipped bit");
            assert!(is_error_of(&error, bit) && error.class() == DecodeErrorClass::Damaged, "{error}");
            if bit < 2 * HEADER_BITS {
                assert_complete_message(&error);
                assert_eq!(options().open_owned(&sample.bytes[..]).err(), Some(error));
            }
            worst = worst.max(seen);
            num_flips += 1;
            flip(&mut sample.bytes, bit);
        }
        assert!(options().open(&sample.bytes).is_ok());
    }
    assert_eq!(worst, Allocated::NOTHING);
    // A block with one entry has 65, 128, 66, 84 or 72 bytes. Ribbon's and fuse's others are a little shorter than
    // `lens`.
    let bits_of_kind = lens().iter().sum::<usize>() * 8;
    let with_gaps = [FilterKind::Ribbon, FilterKind::Fuse];
    let of_len = |kind| lens().into_iter().map(move |len| Sample::of_len(kind, len).bytes.len() * 8);
    let bits_with_gaps: usize = with_gaps.into_iter().flat_map(of_len).sum();
    assert_eq!(num_flips, 3 * bits_of_kind as u64 + bits_with_gaps as u64 + (65 + 128 + 66 + 84 + 72) * 8);
    counted(&[
        (num_flips, "single flipped bits"),
        (num_blocks, "blocks, each flip an error"),
        (worst.largest_bytes, "bytes allocated at most"),
    ]);
}

/// Opened in trust, a block has its header, its unused bits and ribbon's numbers of blocks checked, and by contract
/// nothing else of its payload.
/// The answers are those that the format defines for the bytes, and a bit set by damage to a Bloom filter denies
/// nothing.
#[test]
fn flips_in_trust_are_noticed_in_headers_alone() {
    let caller = Caller { context: CONTEXT, trusted: true, ..Caller::default() };
    let (mut num_noticed, mut num_opened, mut num_padding, mut num_denied) = (0u64, 0, 0, 0);
    let mut worst = Allocated::NOTHING;
    let mut answers = Answers::new();
    for mut sample in blocks() {
        for bit in 0..sample.bytes.len() * 8 {
            let was_set = bit_is_set(&sample.bytes, bit);
            flip(&mut sample.bytes, bit);
            let _case = Case((sample.kind, sample.bytes.len(), bit));
            let trusted = options().with_digest_check(false);
            // Rarely where a payload is long: computing the rate reads all of it.
            let is_described = sample.bytes.len() <= 512 || bit % 61 == 0;
            let (opened, seen) = measured(|| {
                let reader = trusted.open(&sample.bytes)?;
                if is_described {
                    describe(&reader);
                }
                Ok(answers.ask_block(&reader, &sample))
            });
            worst = worst.max(seen);
            match opened {
                Err(error) if bit < HEADER_BITS => {
                    assert!(is_error_of(&error, bit), "{error}");
                    num_noticed += 1;
                }
                Err(error) => {
                    let is_of_blocks = matches!(
                        error,
                        DecodeError::PayloadLength { .. } | DecodeError::Parameter { name: "num_blocks", .. }
                    );
                    let is_in_directory = sample.kind == FilterKind::Ribbon
                        && bit >= (sample.bytes.len() - 4 * usize::from(sample.bytes[41])) * 8;
                    assert!(matches!(error, DecodeError::Padding { .. }) || is_of_blocks && is_in_directory, "{error}");
                    assert_eq!(rules::verdict(&sample.bytes, caller), Err(error));
                    num_padding += 1;
                }
                Ok(denied) => {
                    assert!(bit >= HEADER_BITS, "a flip in the header is not noticed");
                    assert!(sample.kind != FilterKind::Bloom || was_set || denied.by_hash == 0);
                    assert_eq!(denied.by_hash, denied.by_key);
                    num_denied += u64::from(denied.by_hash > 0);
                    num_opened += 1;
                    // The oracle is slower than the code under test.
                    if bit % 61 == 0 && sample.bytes.len() <= 1 << 10 {
                        assert_eq!(rules::verdict(&sample.bytes, caller), Ok(()));
                        answers.assert_as_oracle(&sample, &Oracle::open(&sample.bytes));
                    }
                }
            }
            flip(&mut sample.bytes, bit);
        }
    }
    assert_eq!(worst, Allocated::NOTHING);
    let num_blocks = FilterKind::ALL.len() as u64 * (lens().len() as u64 + 1);
    assert_eq!(num_noticed, num_blocks * HEADER_BITS as u64);
    assert_eq!(num_opened + num_padding, blocks().iter().map(|sample| sample.payload_bits() as u64).sum::<u64>());
    assert!(num_denied > num_opened / 100, "damage that changes no answer tests nothing");
    counted(&[
        (num_noticed, "single flipped bits of headers noticed in trust"),
        (num_opened, "of payloads opened in trust"),
        (num_padding, "of unused bits and numbers of blocks rejected"),
        (num_denied, "denied a stored key"),
        (worst.largest_bytes, "bytes allocated at most"),
    ]);
}

/// All pairs of flips, made in place. Unlike a CRC, XXH3 guarantees nothing about two flips in a payload: that none of
/// these passes is a measurement, with a chance of one in 2⁴⁰ that one would.
#[test]
fn every_pair_of_flipped_bits_is_an_error() {
    let len = by_extent(128, 512, 512);
    for &kind in FilterKind::ALL {
        let mut block = Sample::of_len(kind, len).bytes;
        let bits = block.len() * 8;
        let at = Cell::new((0, 0));
        let _case = Case((kind, &at));
        let (num_pairs, seen) = measured(|| {
            let mut num_pairs = 0u64;
            for first in 0..bits {
                flip(&mut block, first);
                for second in first + 1..bits {
                    at.set((first, second));
                    flip(&mut block, second);
                    match options().open(&block) {
                        Err(error) => assert!(is_error_of(&error, first), "{error}"),
                        Ok(_) => panic!("two flipped bits pass"),
                    }
                    num_pairs += 1;
                    flip(&mut block, second);
                }
                flip(&mut block, first);
            }
            num_pairs
        });
        assert!(options().open(&block).is_ok());
        assert_eq!(seen, Allocated::NOTHING);
        let has_gaps = [FilterKind::Ribbon, FilterKind::Fuse].contains(&kind);
        let expected = if has_gaps { bits * (bits - 1) / 2 } else { len * 8 * (len * 8 - 1) / 2 };
        assert_eq!(num_pairs, expected as u64);
        let what = format!("pairs of flipped bits of a {kind} block of {} bytes, each an error", block.len());
        counted(&[(num_pairs, &what), (seen.largest_bytes, "bytes allocated at most")]);
    }
}

fn crc_is_right(block: &[u8]) -> bool {
    int(&block[CRC_AT..HEADER_LEN]) as u32 == masked_crc(&block[..CRC_AT]) ^ mix(CONTEXT) as u32
}

/// The CRC by itself: one or two flips anywhere in a header leave it wrong, so that none would pass in trust even if
/// the magic were not compared.
#[test]
fn every_one_and_two_flips_of_a_header_break_its_crc() {
    let (mut num_single, mut num_pairs, mut num_undetected) = (0u64, 0u64, 0u64);
    for &kind in FilterKind::ALL {
        let mut block = Sample::of_len(kind, 512).bytes;
        let trusted = options().with_digest_check(false);
        for first in 0..HEADER_BITS {
            flip(&mut block, first);
            num_single += 1;
            num_undetected += u64::from(crc_is_right(&block) || trusted.open(&block).is_ok());
            for second in first + 1..HEADER_BITS {
                flip(&mut block, second);
                num_pairs += 1;
                num_undetected += u64::from(crc_is_right(&block) || trusted.open(&block).is_ok());
                flip(&mut block, second);
            }
            flip(&mut block, first);
        }
    }
    assert_eq!((num_single, num_pairs, num_undetected), (5 * 512, 5 * 130_816, 0));
    counted(&[
        (num_single, "single"),
        (num_pairs, "double flips of headers under the CRC-32 alone"),
        (num_undetected, "undetected"),
    ]);
}

/// The same for every possible header. A CRC is linear: the change δ that a flip makes depends only on its position.
/// Two flips in the 60 bytes covered pass only if their δ are equal. One there and one in the stored CRC, which is
/// rotated and then added to, pass only if adding or subtracting that one's power of two changes just the bits of the
/// rotated δ: what a carry changes is a run of ones that begins there, and may end anywhere above.
#[test]
fn one_and_two_flips_break_the_crc_of_any_header() {
    let zeros = [0; CRC_AT];
    let mut differences: Vec<u32> = (0..CRC_AT * 8)
        .map(|bit| {
            let mut header = zeros;
            flip(&mut header, bit);
            (crc32(&header) ^ crc32(&zeros)).rotate_right(15)
        })
        .collect();
    let is_run = |bits: u32| {
        let run = bits.checked_shr(bits.trailing_zeros()).unwrap_or(0);
        run != 0 && run & run.wrapping_add(1) == 0
    };
    assert!([1, 2, 6, 0xf000_0000, u32::MAX, 0x7fff_ffff].into_iter().all(is_run));
    assert!(![0, 5, 0b1101, 0x8000_0001].into_iter().any(is_run));
    assert_eq!(differences.iter().filter(|&&difference| difference == 0 || is_run(difference)).count(), 0);
    let num_places = differences.len();
    differences.sort_unstable();
    differences.dedup();
    assert_eq!((num_places, differences.len()), (480, 480));
}
