//! Allocations of readers: none, however a block is opened and probed. Owning readers allocate what is stated here.

use crate::*;
use std::fmt::Write;

/// A text buffer of fixed length, so that formatting does not allocate either.
struct Text([u8; 300], usize);

impl Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.0.get_mut(self.1..self.1 + text.len()).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.1 += text.len();
        Ok(())
    }
}

/// Makes every query of a block's reader; returns what they allocate.
fn ask(reader: &FilterBlockReader<'_>, sample: &Sample) -> Allocated {
    let mut answers = Answers::new();
    let (denied, seen) = measured(|| {
        describe(reader);
        assert!(reader.bits_per_key().is_none_or(|bits| bits > 0.0 && bits.is_finite()));
        answers.ask_block(reader, sample)
    });
    assert_eq!(denied, Denied::default());
    seen
}

/// As [`ask`], of a frame's reader.
fn ask_compact(reader: &CompactFrameReader<'_>, sample: &Sample) -> Allocated {
    let mut answers = Answers::new();
    let (denied, seen) = measured(|| {
        describe(reader);
        answers.ask(reader, sample)
    });
    assert_eq!(denied, Denied::default());
    seen
}

#[test]
fn opening_and_asking_allocate_nothing() {
    let (mut num_blocks, mut worst) = (0, Allocated::NOTHING);
    for sample in blocks() {
        let (reader, seen) = measured(|| options().open(&sample.bytes));
        worst = worst.max(seen).max(ask(&reader.expect("intact"), &sample));
        let frame = compact_of(&sample.bytes);
        let (reader, seen) = measured(|| open_compact(&frame));
        worst = worst.max(seen).max(ask_compact(&reader.expect("a frame"), &sample));

        // Owned as a vector, which moves into the filter and out of it.
        let bytes = sample.bytes.clone();
        let (filter, seen) = measured(|| options().open_owned(bytes));
        let filter = filter.expect("intact");
        worst = worst.max(seen).max(ask(&filter.reader(), &sample));
        let (mut bytes, seen) = measured(|| filter.into_inner());
        worst = worst.max(seen);
        // A damaged block is freed, not copied, and formatting its error makes no copy either.
        bytes[30] ^= 1;
        let mut text = Text([0; 300], 0);
        let (opened, seen) =
            measured(|| options().open_owned(bytes).map(drop).map_err(|error| write!(text, "{error}")));
        assert_eq!((opened, text.1 > 20), (Err(Ok(())), true));
        worst = worst.max(seen);

        // Aligned bytes are a copy that the caller makes: one allocation of the block's length and a line.
        let (aligned, seen) = measured(|| AlignedBytes::copy_of(&sample.bytes));
        let copied = sample.bytes.len() as u64 + 64;
        let expected = Allocated { num_calls: 1, total_bytes: copied, largest_bytes: copied, peak_bytes: copied };
        assert_eq!(seen, expected);
        let (filter, seen) = measured(|| options().open_owned(aligned));
        worst = worst.max(seen).max(ask(&filter.expect("intact").reader(), &sample));
        num_blocks += 1;
    }
    assert_eq!(worst, Allocated::NOTHING);
    counted(&[
        (num_blocks, "intact blocks opened, kept and probed"),
        (worst.num_calls, "allocations"),
        (worst.largest_bytes, "bytes allocated at most"),
    ]);
}
