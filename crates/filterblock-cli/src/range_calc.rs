//! `filterblock calc --range-len`: the size or the rate of a range filter of integers.

use crate::exit::{Code, Failure};
use crate::output;
use filterblock::BuildError;
use filterblock::range::RangePolicy;
use serde::Serialize;
use std::io::Write as _;
use std::process::ExitCode;

#[derive(Serialize)]
struct Figures {
    policy: String,
    entries: u64,
    range_len: u64,
    fpr: f64,
    bits_per_key: f64,
    bytes: u64,
    lower_bound_bits_per_key: f64,
}

/// Prints the figures of a filter for ranges of up to `range_len` integers, of a rate or of a number of bits.
pub(crate) fn run(
    entries: u64,
    range_len: u64,
    (fpr, bits_per_key): (Option<f64>, Option<f64>),
    json: bool,
) -> anyhow::Result<ExitCode> {
    let refused = |error: BuildError| Failure::usage("calc", error);
    let rate = match (fpr, bits_per_key) {
        (Some(rate), None) => rate,
        // A policy's bits grow by one where its rate halves.
        (None, Some(bits)) => {
            let half = RangePolicy::with_false_positive_rate(0.5, range_len).map_err(refused)?;
            let least = half.bits_per_key();
            if bits.is_nan() || bits < least {
                let message = format!(
                    "{bits} bits per key are too few for ranges of {range_len} integers: with {least:.3} half of the empty \
                     ones pass. Give more, or a smaller --range-len"
                );
                return Err(Failure::usage("calc", message).into());
            }
            0.5 * (least - bits).exp2()
        }
        _ => {
            return Err(
                Failure::usage("calc", "give --range-len with --entries, and one of --fpr and --bits-per-key").into()
            );
        }
    };
    let policy = RangePolicy::with_false_positive_rate(rate, range_len).map_err(refused)?;
    let figures = Figures {
        policy: policy.to_string(),
        entries,
        range_len,
        fpr: rate,
        bits_per_key: policy.bits_per_key(),
        bytes: policy.expected_block_len(entries),
        lower_bound_bits_per_key: (range_len as f64 / rate).log2(),
    };
    output::print(|out| match json {
        true => out.json(&figures),
        false => writeln!(
            out,
            "{}: {:.3} bits/key, {} bytes; an empty range of {range_len} integers passes at {}, shorter ones at as much \
             less; lower bound {:.3} bits/key",
            figures.policy,
            figures.bits_per_key,
            figures.bytes,
            output::rate(rate),
            figures.lower_bound_bits_per_key
        ),
    })?;
    Ok(Code::Ok.into())
}
