//! `filterblock build`: from keys to a block in a file.

use crate::answers::row_and_column;
use crate::exit::{self, Code, Failure};
use crate::filter::{self, Filter};
use crate::keys::Keys;
use crate::open_args::{self, parse_transform};
use crate::output::{self, object, shell_word};
use crate::output_file::{OutputArgs, OutputFile};
use crate::policy_args::{AUTO, DEFAULT_BITS_PER_KEY, DEFAULT_RANGE_BITS, RANGE, Size, kind_or};
use crate::progress::Working;
use crate::range_filter;
use crate::units::{parse_bytes, parse_rate, parse_u64};
use filterblock::range::{RangeFilterBuilder, RangePolicy};
use filterblock::{
    BuildError, CompactFrameReader, FilterBlockBuilder, FilterKind, FilterPolicy, KeyHasher, KeyTransform, OpenOptions,
    ParsePolicyError,
};
use std::collections::TryReserveError;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Build a block from keys
///
/// Reads one key per line and writes one filter block. The same keys and seed give the same bytes, whatever the keys'
/// order and however often they are repeated. Memory: 8 bytes for each line, and the block; for a range filter the keys
/// twice, and 26 bytes for each. The file appears complete or not at all.
#[derive(clap::Args)]
#[command(after_help = concat!(include_str!("help/keys.txt"), include_str!("help/lines.txt"), include_str!("help/build.txt")))]
pub(crate) struct Args {
    /// File of keys; standard input if omitted, or for '-'
    #[arg(value_name = "KEYS", default_value = "-", hide_default_value = true)]
    keys: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
    /// Keys end with NUL, not with a newline
    #[arg(long, short = '0')]
    null: bool,
    /// Make a filter of no keys, which denies every key; without this an empty input is an error
    #[arg(long)]
    allow_empty: bool,
    /// The structure; auto is the one that costs least for the number of distinct keys, range a range filter
    #[arg(long, value_name = "KIND", default_value = FilterKind::default().name(), value_parser = kind_or(&[AUTO, RANGE]))]
    kind: String,
    /// Size: bits for each distinct key, header included (very small blocks come out larger); 10, or 14
    /// for a range filter, unless a size is given
    #[arg(long, value_name = "B", conflicts_with_all = ["fpr", "max_bytes"])]
    bits_per_key: Option<f64>,
    /// Size: the smallest block whose expected false-positive rate is at most this, as 0.01 or 1%
    #[arg(long, value_name = "P", conflicts_with = "max_bytes", value_parser = parse_rate)]
    fpr: Option<f64>,
    /// Size: the best block of at most this many bytes, as 65536 or 64KiB
    #[arg(long, value_name = "N", value_parser = parse_bytes)]
    max_bytes: Option<u64>,
    /// Kind, size and all other settings as the library writes them, such as ribbon:fpr=1%,slots_per_key=1.05,
    /// auto:12,level=4,seed=7, range:16 or range:fpr=1%,len=1024, whose rate is for integers, keys of one length; others
    /// are refused with range:fpr=1%,len=1024,form=integers
    #[arg(long, value_name = "TEXT", value_parser = parse_policy, conflicts_with_all = ["kind", "bits_per_key", "fpr", "max_bytes", "seed", "transform"])]
    policy: Option<Policy>,
    /// Seed of the hash, decimal or 0x… [default: random]
    #[arg(long, value_name = "S", value_parser = parse_u64)]
    seed: Option<u64>,
    /// Hash by SipHash-1-3 under the secret key in a file of 16 bytes, or of 32 hexadecimal digits
    #[arg(long, value_name = "F", conflicts_with_all = ["seed", "policy"])]
    hash_key_file: Option<PathBuf>,
    /// What entries are made of: whole-key, row, row+column, prefix:LEN, whole-key+prefix:LEN or delimited:BYTE[:LEVELS]
    #[arg(long, value_name = "T", default_value_t, value_parser = parse_transform)]
    transform: KeyTransform,
    /// Bind the block to this number, which its readers must then give
    #[arg(long, value_name = "C", default_value = "0", value_parser = parse_u64)]
    context: u64,
    /// Write a compact frame: no header and no checksums, for filters that are checksummed and described elsewhere
    #[arg(long, conflicts_with = "context")]
    compact_frame: bool,
}

#[derive(Clone)]
enum Policy {
    Keys(FilterPolicy),
    Ranges(RangePolicy),
}

/// A policy whose seed is drawn if the text has none: a fixed one could be known to those who choose the keys.
fn parse_policy(text: &str) -> Result<Policy, ParsePolicyError> {
    if text.split(':').next() == Some(RANGE) {
        return text.parse().map(Policy::Ranges);
    }
    let policy: FilterPolicy = text.parse()?;
    let has_seed = text.split(',').any(|setting| setting.starts_with("seed="));
    Ok(Policy::Keys(if has_seed { policy } else { policy.with_hasher(KeyHasher::new(rand::random())) }))
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let policy = match policy(args)? {
        Policy::Keys(policy) => policy,
        Policy::Ranges(policy) => return build_ranges(args, policy),
    };
    let target = OutputFile::new(&args.output, &[&args.keys], &args.hash_key_file, "No key was read.")?;
    let mut builder = FilterBlockBuilder::new(&policy);
    builder.set_context(args.context);
    if args.allow_empty {
        builder.allow_empty();
    }
    let mut keys = open_keys(args)?;
    while let Some(key) = keys.next_key()? {
        // The key, and its prefixes.
        if let Err(error) = builder.try_reserve(1 + policy.transform().prefixes_of(key).count()) {
            return Err(keys.out_of_memory(error).into());
        }
        match (policy.transform(), row_and_column(key)) {
            (KeyTransform::Row, _) => builder.add_row(key),
            (KeyTransform::RowColumn, Some((row, column))) => builder.add_row_column(row, column),
            (KeyTransform::RowColumn, None) => return Err(keys.without_column().into()),
            _ => builder.add_key(key),
        }
    }
    let num_without_entry = builder.num_without_entry();
    let keys_read = keys.num_keys();
    let mut block = Vec::new();
    let working = Working::new(format!("building {}", args.output.path.display()));
    make_room(&policy, builder.num_added(), &mut block).map_err(|error| keys.out_of_memory(error))?;
    let built = match args.compact_frame {
        true => builder.finish_compact_into(&mut block),
        false => builder.finish_into(&mut block),
    };
    built.map_err(|error| refused(args, &error))?;
    target.write(&block)?;
    drop(working);
    if num_without_entry > 0 {
        exit::message(format_args!(
            "{}: {num_without_entry} of {} keys have no prefix that is an entry: they are 'maybe' in every \
             such filter.",
            args.output.path.display(),
            keys_read
        ));
    }
    summarize(args, &policy, keys_read, &block)?;
    Ok(Code::Ok.into())
}

/// Builds a range filter, which keeps the keys themselves until it is finished.
fn build_ranges(args: &Args, policy: RangePolicy) -> anyhow::Result<ExitCode> {
    let others = [
        ("--fpr", args.fpr.is_some()),
        ("--max-bytes", args.max_bytes.is_some()),
        ("--seed", args.seed.is_some()),
        ("--hash-key-file", args.hash_key_file.is_some()),
        ("--transform", args.transform != KeyTransform::default()),
        ("--compact-frame", args.compact_frame),
    ];
    if let Some((name, _)) = others.iter().find(|(_, is_given)| *is_given) {
        let message = format!(
            "{name} is not for range filters: they are of whole keys, under no seed. Leave it out; --bits-per-key gives the \
             size, or --policy range:fpr=1%,len=1024 a rate for the longest range of integers"
        );
        return Err(Failure::usage("build", message).into());
    }
    let target = OutputFile::new(&args.output, &[&args.keys], &None, "No key was read.")?;
    let mut builder = RangeFilterBuilder::new(policy);
    builder.set_context(args.context);
    if args.allow_empty {
        builder.allow_empty();
    }
    let (mut keys, mut key_bytes, mut lens) = (open_keys(args)?, 0, [usize::MAX, 0]);
    while let Some(key) = keys.next_key()? {
        lens = [lens[0].min(key.len()), lens[1].max(key.len())];
        if let Err(error) = builder.try_reserve_key(key.len()) {
            return Err(keys.out_of_memory(error).into());
        }
        key_bytes += key.len();
        builder.add_key(key);
    }
    let (keys_read, num_added) = (keys.num_keys(), builder.num_added());
    // Sorting copies the keys, with two numbers for each; the plan of the filter and the filter follow.
    let rest = num_added * 26 + policy.expected_block_len(num_added);
    Vec::<u8>::new().try_reserve_exact(key_bytes + rest as usize).map_err(|error| keys.out_of_memory(error))?;
    let working = Working::new(format!("building {}", args.output.path.display()));
    let block = builder.finish().map_err(|error| refused(args, &error))?;
    target.write(&block)?;
    drop(working);
    let filter = OpenOptions::new().with_context(args.context).open_ranges(&block[..])?;
    range_filter::rate_lost(&filter, &policy, &args.output.path, lens).iter().for_each(exit::message);
    let mut figures = object([("keys_read", keys_read.into())]);
    figures.extend(range_filter::figures(&filter, args.context));
    let summary = || format!("{} from {}", range_filter::summary(&filter), output::count(keys_read, "key"));
    filter::report(&args.output.path, args.output.json, || figures, summary)?;
    Ok(Code::Ok.into())
}

fn open_keys(args: &Args) -> Result<Keys, Failure> {
    Keys::open(&args.keys, args.null, "Nothing was written. Run `filterblock build --help`.")
}

fn policy(args: &Args) -> Result<Policy, Failure> {
    if let Some(policy) = &args.policy {
        return Ok(policy.clone());
    }
    if args.kind == RANGE {
        let policy = RangePolicy::with_bits_per_key(args.bits_per_key.unwrap_or(DEFAULT_RANGE_BITS));
        return policy.map(Policy::Ranges).map_err(|error| Failure::usage("build", error));
    }
    let size = match (args.bits_per_key, args.fpr, args.max_bytes) {
        (_, Some(rate), _) => Size::FalsePositiveRate(rate),
        (.., Some(bytes)) => Size::MaxBytes(bytes),
        (bits, ..) => Size::BitsPerKey(bits.unwrap_or(DEFAULT_BITS_PER_KEY)),
    };
    let hasher = match &args.hash_key_file {
        Some(path) if matches!(path.try_exists(), Ok(false)) => return Err(no_hash_key(path)),
        Some(path) => open_args::read_hash_key(path)?,
        None => KeyHasher::new(args.seed.unwrap_or_else(rand::random)),
    };
    let policy = size.policy(&args.kind).map_err(|error| Failure::usage("build", error))?;
    Ok(Policy::Keys(policy.with_hasher(hasher).with_transform(args.transform)))
}

/// A key is drawn only where it replaces nothing, and so that no other user can read it.
fn no_hash_key(path: &Path) -> Failure {
    let message = format!(
        "{}: cannot read the hash key: no such file. Nothing was read. For a new key, run `(umask 077; set -C; head \
         -c 16 /dev/urandom > {})`.",
        path.display(),
        shell_word(path)
    );
    Failure::new(Code::Io, message)
}

/// Reserves the memory for a block of `num_entries`, a sixteenth more for kinds whose length depends on the keys, and
/// fails unless there is also what building it takes.
fn make_room(policy: &FilterPolicy, num_entries: u64, block: &mut Vec<u8>) -> Result<(), TryReserveError> {
    // A number that is too large for a block is refused by the builder.
    let block_bytes = policy.expected_block_len(num_entries).unwrap_or(0);
    block.try_reserve_exact((block_bytes + block_bytes / 16) as usize + 4096)?;
    Vec::<u8>::new().try_reserve_exact((num_entries / 2) as usize + (4 << 20))
}

/// The builder could not meet the policy.
fn refused(args: &Args, error: &BuildError) -> Failure {
    if exit::code_of_build(error) == Code::Damaged {
        return Failure::damaged(format!("{}: not written: {error}", args.output.path.display()));
    }
    if let BuildError::Empty = error {
        let message = "no keys, so nothing was written. For a filter that denies every key, add --allow-empty";
        return Failure::usage("build", message);
    }
    let output = args.output.path.display();
    if let BuildError::NotIntegers(_) = error {
        return Failure::usage("build", format_args!("{error}. {output} was not written"));
    }
    Failure::usage("build", format_args!("{error}. {output} was not written. Run `filterblock calc --help`"))
}

fn summarize(args: &Args, policy: &FilterPolicy, keys_read: u64, bytes: &[u8]) -> anyhow::Result<()> {
    let (hasher, transform) = (policy.hasher(), policy.transform());
    let filter = match args.compact_frame {
        true => Filter::Frame(CompactFrameReader::open(bytes, policy)?),
        false => Filter::Block(OpenOptions::new().with_context(args.context).expect(policy).open(bytes)?),
    };
    // Of no keys, --allow-empty has made one on request.
    if keys_read > 0 {
        filter.remark(&args.output.path).iter().for_each(exit::message);
    }
    let more = object([("keys_read", keys_read.into())]);
    let hash = match &args.hash_key_file {
        Some(path) => format!("--hash-key-file {}", shell_word(path)),
        None => format!("--seed {:#x}", hasher.seed()),
    };
    let read = output::count(keys_read, "key");
    let note = match args.compact_frame {
        true => format!(
            " from {read}; query it by --compact-frame {hash} --transform {transform}, in programs under {policy}"
        ),
        false => format!(" from {read}, {hash}"),
    };
    Ok(filter.report(&args.output.path, args.output.json, more, &note)?)
}
