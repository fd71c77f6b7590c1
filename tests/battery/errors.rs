//! Messages and classes of errors.

use crate::*;
use filterblock::TransformId;
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
fn transform(TransformId { id, param }: TransformId) -> String {
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

/// What a caller expects and does not find. The other errors are those of damage, whose tests check each message.
#[test]
fn every_mismatch_says_its_numbers() {
    let sound = Sample::of_len(FilterKind::Bloom, 256);
    let error_of = |at: usize, value: u8, context: u64| {
        let mut block = sound.bytes.clone();
        block[at] = value;
        repair(&mut block, context);
        options().expect_hasher(&KeyHasher::new(SEED)).expect_transform(TRANSFORM).open(&block).expect_err("changed")
    };
    for (name, error) in [
        ("WrongContext", error_of(8, 1, CONTEXT + 5)),
        ("WrongSeed", error_of(16, 77, CONTEXT)),
        ("WrongTransform", error_of(11, 200, CONTEXT)),
        ("WrongTransform", error_of(15, 1, CONTEXT)),
        ("WrongFamily", error_of(9, 6, CONTEXT)),
    ] {
        assert_eq!((error.class(), name_of(&error).as_str()), (DecodeErrorClass::Mismatch, name), "{error}");
        assert_complete_message(&error);
    }
}

#[test]
fn a_number_left_out_is_noticed() {
    let error = |declared_bytes| DecodeError::PayloadLength { declared_bytes, actual_bytes: 5 };
    let (text, fields) = (error(123_456).to_string(), format!("{:?}", error(12_345)));
    assert_eq!(numbers_of(&text), BTreeSet::from([5, 123_456]));
    assert_eq!(missing_numbers(&text, &fields), BTreeSet::from([12_345]));
    assert_eq!(numbers_of("magic 0x00000000000000ff, id 7 of num_9 entries"), BTreeSet::from([7, 255]));
}
