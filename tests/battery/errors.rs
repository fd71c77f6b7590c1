//! Messages and classes of errors.

use crate::rules::{repair, repair_crc};
use crate::samples::{CONTEXT, HEADER_LEN, SEED, Sample, TRANSFORM, options};
use filterblock::{DecodeError, DecodeErrorClass, FilterKind};
use std::collections::BTreeSet;

/// Decimal and hexadecimal numbers in `text`.
fn numbers_of(text: &str) -> BTreeSet<u64> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    words.filter_map(number).collect()
}

/// Name of the variant.
pub(crate) fn name_of(error: &DecodeError) -> String {
    format!("{error:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// Numbers in an error's fields that are missing from its message.
fn missing_numbers(text: &str, fields: &str) -> BTreeSet<u64> {
    &numbers_of(fields) - &numbers_of(text)
}

/// In the words in which a user states it.
fn transform((id, param): (u8, u16)) -> String {
    match id {
        0..=2 => ["whole-key", "row", "row+column"][usize::from(id)].to_owned(),
        3 => format!("prefix:{param}"),
        4 => format!("whole-key+prefix:{param}"),
        _ => format!("custom:{id}:{param}"),
    }
}

/// The message contains every number that the error carries, or what it stands for, and begins with the parameter's
/// name if it is about one.
pub(crate) fn assert_complete_message(error: &DecodeError) {
    let (text, fields) = (error.to_string(), format!("{error:?}"));
    assert!(text.len() >= 20 && text.trim() == text, "{text:?}");
    assert!(!numbers_of(&fields).is_empty(), "{fields}");
    if let DecodeError::WrongTransform { expected, found } = *error {
        assert_eq!(text, format!("key transform expected {}, found {}", transform(expected), transform(found)));
        return;
    }
    assert!(missing_numbers(&text, &fields).is_empty(), "{text:?} of {fields}");
    if let DecodeError::Parameter { name, .. } = error {
        assert!(text.starts_with(name), "{text:?} of {fields}");
    }
}

/// One block for each error, with its class from section 11.
#[test]
fn every_error_has_its_class_and_says_its_numbers() {
    let sound = Sample::of_len(FilterKind::Bloom, 256);
    let error_of = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut block = sound.bytes.clone();
        change(&mut block);
        options().expect_seed(SEED).expect_transform(TRANSFORM).open(&block).expect_err("changed")
    };
    let set = |at: usize, value: u8| {
        move |block: &mut Vec<u8>| {
            block[at] = value;
            repair_crc(block, CONTEXT);
        }
    };
    let padded = |block: &mut Vec<u8>| {
        // 1535 of 1536 bits are used, and the unused one is set.
        (block[44], block[45]) = (0xff, 0x05);
        block[HEADER_LEN + 191] = 0x80;
        repair(block, CONTEXT);
    };
    let (damaged, newer, mismatch) = (DecodeErrorClass::Damaged, DecodeErrorClass::Newer, DecodeErrorClass::Mismatch);
    let errors = [
        (damaged, "TooShort", error_of(&|block| block.truncate(63))),
        (damaged, "Magic", error_of(&|block| block[7] ^= 1)),
        (damaged, "HeaderChecksum", error_of(&|block| block[30] ^= 1)),
        (damaged, "PayloadDigest", error_of(&|block| block[HEADER_LEN] ^= 1)),
        (damaged, "PayloadLength", error_of(&|block| block.push(0))),
        (damaged, "Parameter", error_of(&set(8, 0))),
        (damaged, "Parameter", error_of(&set(40, 65))),
        (damaged, "Padding", error_of(&padded)),
        (newer, "NewerVersion", error_of(&set(8, 2))),
        (newer, "UnknownKind", error_of(&set(9, 6))),
        (newer, "UnknownHash", error_of(&set(10, 0))),
        (newer, "UnknownTransform", error_of(&set(11, 100))),
        (newer, "UnknownFeatures", error_of(&set(13, 0x41))),
        (newer, "Reserved", error_of(&set(11, 0))),
        (newer, "Reserved", error_of(&set(43, 3))),
        (mismatch, "WrongContext", error_of(&|block| repair(block, CONTEXT + 5))),
        (mismatch, "WrongSeed", error_of(&set(16, 77))),
        (mismatch, "WrongTransform", error_of(&set(11, 200))),
        (mismatch, "WrongTransform", error_of(&set(15, 1))),
    ];
    let mut names = BTreeSet::new();
    for (class, name, error) in errors {
        assert_eq!((error.class(), name_of(&error).as_str()), (class, name), "{error}");
        assert!(class.to_string().len() > 4);
        assert_complete_message(&error);
        names.insert(name);
    }
    assert_eq!(names.len(), 16, "{names:?}");
}

#[test]
fn a_number_left_out_is_noticed() {
    let error = |declared_bytes| DecodeError::PayloadLength { declared_bytes, actual_bytes: 5 };
    let (text, fields) = (error(123_456).to_string(), format!("{:?}", error(12_345)));
    assert_eq!(numbers_of(&text), BTreeSet::from([5, 123_456]));
    assert_eq!(missing_numbers(&text, &fields), BTreeSet::from([12_345]));
    assert_eq!(numbers_of("magic 0x00000000000000ff, id 7 of num_9 entries"), BTreeSet::from([7, 255]));
}
