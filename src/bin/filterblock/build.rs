//! `filterblock build`: from keys to a block in a file.

use crate::answers::{LINES, row_and_column};
use crate::exit::{self, Code, Failure};
use crate::expected::{self, parse_transform};
use crate::keys::{self, Keys, Seen, is_dash};
use crate::output::{self, shell_word};
use crate::target::Target;
use crate::units::{parse_bytes, parse_rate, parse_u64};
use crate::workload::{KindName, Size, WorkloadArgs};
use filterblock::{
    BuildError, CompactFrameReader, FilterBlockBuilder, FilterKind, FilterPolicy, KeyHasher, KeyTransform, OpenOptions,
};
use serde_json::json;
use std::collections::TryReserveError;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  filterblock build --output table.fb keys.txt
  filterblock build --kind golomb --fpr 0.1% --output table.fb keys.txt
  sort -u a.txt b.txt | filterblock build --kind bloom --max-bytes 64KiB --output ab.fb
  find . -print0 | filterblock build --null --output files.fb
  filterblock build --transform prefix:8 --output prefixes.fb keys.txt
  filterblock build --compact --output small.fb keys.txt
  filterblock build --output - keys.txt | ssh host 'cat > table.fb'";

const DEFAULT_BITS_PER_KEY: f64 = 10.0;

/// Build a block from keys
///
/// Reads one key per line and writes one filter block. The same keys give the same bytes, whatever their order and
/// however often they are repeated. Memory: 8 bytes for each line, and the block. The file appears complete or not at
/// all.
#[derive(clap::Args)]
#[command(before_help = EXAMPLES, after_help = format!("{}\n\n{LINES}", keys::NOTATION))]
pub(crate) struct Args {
    /// The structure: bloom, blocked, golomb, ribbon or fuse; or auto, the one that costs least for the number of
    /// distinct keys
    #[arg(long, value_name = "KIND", default_value_t = KindName::Named(FilterKind::DEFAULT))]
    kind: KindName,
    /// Size: bits for each distinct key, header included (very small blocks come out larger); 10 unless a size is given
    #[arg(long, value_name = "B", conflicts_with_all = ["fpr", "max_bytes"])]
    bits_per_key: Option<f64>,
    /// Size: the smallest block whose expected false-positive rate is at most this, as 0.01 or 1%
    #[arg(long, value_name = "P", conflicts_with = "max_bytes", value_parser = parse_rate)]
    fpr: Option<f64>,
    /// Size: the best block of at most this many bytes, as 65536 or 64KiB
    #[arg(long, value_name = "N", value_parser = parse_bytes)]
    max_bytes: Option<u64>,
    #[command(flatten, next_help_heading = "By which --kind auto chooses (`filterblock calc` explains it)")]
    workload: WorkloadArgs,
    /// Seed of the hash, decimal or 0x…
    #[arg(long, value_name = "S", default_value = "0", value_parser = parse_u64)]
    seed: u64,
    /// Hash by SipHash-1-3 under the secret key in a file of 16 bytes, or of 32 hexadecimal digits
    #[arg(long, value_name = "F", conflicts_with = "seed")]
    hash_key_file: Option<PathBuf>,
    /// Kind blocked only: try 2^T salts for each word, 0 to 6; 3 unless given
    #[arg(long, value_name = "T")]
    salt_bits: Option<u32>,
    /// Kind ribbon only: slots for each key, 0.95 to 1.2; fewer are smaller and slower to build; 0.995 unless given
    #[arg(long, value_name = "S")]
    slots_per_key: Option<f64>,
    /// What entries are made of: whole-key, row, row+column, prefix:LEN or whole-key+prefix:LEN
    #[arg(long, value_name = "T", default_value_t, value_parser = parse_transform)]
    transform: KeyTransform,
    /// Bind the block to this number, which its readers must then give
    #[arg(long, value_name = "C", default_value = "0", value_parser = parse_u64)]
    context: u64,
    /// Write a compact frame: no header and no checksums, for filters that are checksummed and described elsewhere
    #[arg(long, conflicts_with = "context")]
    compact: bool,
    /// The file to write, replaced if it exists; '-' is standard output, and then the summary goes to standard error
    #[arg(long, short, value_name = "F")]
    output: PathBuf,
    /// Keys end with NUL, not with a newline
    #[arg(long, short = '0')]
    null: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// File of keys; standard input if omitted, or for '-'
    #[arg(value_name = "KEYS", default_value = "-", hide_default_value = true)]
    keys: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let policy = policy(args)?;
    let target = Target::new(&args.output, "No key was read. Name a file in a directory that can be written to.")?;
    if fs::canonicalize(&args.keys).is_ok_and(|keys| target.path() == Some(&keys)) {
        let message = "the keys and the output are one file, which the filter would replace";
        return Err(Failure::usage("build", message).into());
    }
    let key = args.hash_key_file.as_ref().and_then(|path| fs::canonicalize(path).ok());
    if key.is_some_and(|key| target.path() == Some(&key)) {
        let message = "the hash key and the output are one file, which the filter would replace";
        return Err(Failure::usage("build", message).into());
    }
    let mut builder = FilterBlockBuilder::new(policy);
    builder.context(args.context);
    let mut keys = Keys::open(&args.keys, args.null, "Nothing was written. Run `filterblock build --help`.")?;
    while let Some(key) = keys.next_key()? {
        // The key, and its prefix.
        if let Err(error) = builder.try_reserve(2) {
            return Err(keys.out_of_memory(error).into());
        }
        match (args.transform, row_and_column(key)) {
            (KeyTransform::Row, _) => builder.add_row(key),
            (KeyTransform::RowColumn, Some((row, column))) => builder.add_row_column(row, column),
            (KeyTransform::RowColumn, None) => return Err(keys.without_column().into()),
            _ => builder.add_key(key),
        }
    }
    let num_without_entry = builder.num_without_entry();
    let seen = keys.seen();
    let mut block = Vec::new();
    make_room(&policy, builder.num_added(), &mut block).map_err(|error| keys.out_of_memory(error))?;
    let built = keys::with_spinner("building", || match args.compact {
        true => builder.finish_compact_into(&mut block),
        false => builder.finish_into(&mut block),
    });
    built.map_err(|error| refused(args, &error, &builder))?;
    target.write(&block)?;
    warn_of_carriage_returns(args, seen);
    if num_without_entry > 0 {
        exit::message(format_args!(
            "{}: {num_without_entry} of {} keys are shorter than the prefix and have no entry: they are 'maybe' in every \
             such filter.",
            args.output.display(),
            seen.num_keys
        ));
    }
    summarize(args, policy.hasher(), seen, &block)?;
    Ok(Code::Ok.into())
}

fn policy(args: &Args) -> Result<FilterPolicy, Failure> {
    let refused = |error: BuildError| Failure::usage("build", error);
    if args.workload.is_given() && args.kind != KindName::Auto {
        let message = format!("--level, --queries, --read-ns and --byte-ns are for --kind auto, not {}", args.kind);
        return Err(Failure::usage("build", message));
    }
    let size = match (args.bits_per_key, args.fpr, args.max_bytes) {
        (Some(bits), ..) => Size::BitsPerKey(bits),
        (_, Some(rate), _) => Size::FalsePositiveRate(rate),
        (.., Some(bytes)) => Size::MaxBytes(bytes),
        (None, None, None) => Size::BitsPerKey(DEFAULT_BITS_PER_KEY),
    };
    let policy = args.kind.policy(size, args.workload.workload());
    let hasher = match &args.hash_key_file {
        Some(path) if matches!(path.try_exists(), Ok(false)) => return Err(no_hash_key(path)),
        Some(path) => expected::read_hash_key(path)?,
        None => KeyHasher::new(args.seed),
    };
    let policy = policy.map_err(refused)?.hashed_by(hasher).transform(args.transform);
    let refuse_setting = |name: &str, has: fn(&FilterPolicy) -> bool| {
        let with = FilterKind::ALL.iter().filter(|&&kind| {
            FilterPolicy::with_bits_per_key(kind, DEFAULT_BITS_PER_KEY).is_ok_and(|policy| has(&policy))
        });
        let kinds: Vec<&str> = with.map(|kind| kind.name()).collect();
        Failure::usage("build", format!("{name} is for {}, not {}", kinds.join(", "), args.kind))
    };
    let has_salts = |policy: &FilterPolicy| policy.num_salt_bits().is_some();
    let policy = match args.salt_bits {
        None => policy,
        Some(salt_bits) if has_salts(&policy) => policy.salt_bits(salt_bits).map_err(refused)?,
        Some(_) => return Err(refuse_setting("--salt-bits", has_salts)),
    };
    let has_slots = |policy: &FilterPolicy| policy.num_slots_per_key().is_some();
    match args.slots_per_key {
        None => Ok(policy),
        Some(slots) if has_slots(&policy) => policy.slots_per_key(slots).map_err(refused),
        Some(_) => Err(refuse_setting("--slots-per-key", has_slots)),
    }
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
fn refused(args: &Args, error: &BuildError, builder: &FilterBlockBuilder) -> Failure {
    if exit::code_of_build(error) == Code::Damaged {
        return Failure::damaged(format!("{}: not written: {error}", args.output.display()));
    }
    let bytes = args.max_bytes.map_or_else(String::new, |bytes| format!(" --bytes {bytes}"));
    let calc = format!("filterblock calc --entries {}{bytes}", builder.num_added());
    let next = if bytes.is_empty() { "filterblock calc --help" } else { &calc };
    Failure::usage("build", format_args!("{error}. {} was not written. Run `{next}`", args.output.display()))
}

/// Keys from a file with CR LF line ends are rarely intended.
fn warn_of_carriage_returns(args: &Args, seen: Seen) {
    if seen.num_keys > 0 && seen.num_ending_in_cr == seen.num_keys && !args.null {
        exit::message(format_args!(
            "{}: each of the {} keys ends in a carriage return, which is now part of it. If the lines were meant \
             to end in CR LF, run the same command on the output of `sed 's/\\r$//' KEYS`.",
            args.output.display(),
            seen.num_keys
        ));
    }
}

fn summarize(args: &Args, hasher: KeyHasher, seen: Seen, block: &[u8]) -> anyhow::Result<()> {
    if args.compact {
        return summarize_frame(args, hasher, seen, block);
    }
    let reader = OpenOptions::new().context(args.context).expect_hasher(hasher).open(block)?;
    let (num_entries, predicted_fpr) = (reader.num_entries(), reader.false_positive_rate());
    let summary = match args.json {
        true => {
            let fields = json!({
                "output": args.output.to_string_lossy(),
                "kind": reader.kind().name(),
                "keys_read": seen.num_keys,
                "num_entries": num_entries,
                "block_len_bytes": block.len(),
                "bits_per_key": reader.bits_per_key(),
                "predicted_fpr": predicted_fpr,
                "hash_id": hasher.hash_id(),
                "seed": output::hex(hasher.seed()),
            });
            fields.to_string()
        }
        false => format!(
            "{}: {}, {num_entries} distinct entries of {} keys, {} bytes, {} bits/key, predicted false-positive \
             rate {}",
            args.output.display(),
            reader.kind(),
            seen.num_keys,
            block.len(),
            reader.bits_per_key().map_or_else(|| "-".to_owned(), |bits| format!("{bits:.3}")),
            output::rate(predicted_fpr)
        ),
    };
    match is_dash(&args.output) {
        true => exit::message(summary),
        false => output::print(|out| writeln!(out, "{summary}"))?,
    }
    Ok(())
}

fn summarize_frame(args: &Args, hasher: KeyHasher, seen: Seen, frame: &[u8]) -> anyhow::Result<()> {
    let reader = CompactFrameReader::open(frame, hasher, args.transform)?;
    let (kind, predicted_fpr) = (reader.kind().map_or("none", FilterKind::name), reader.false_positive_rate());
    let summary = match args.json {
        true => {
            let fields = json!({
                "output": args.output.to_string_lossy(),
                "kind": kind,
                "keys_read": seen.num_keys,
                "frame_len_bytes": frame.len(),
                "predicted_fpr": predicted_fpr,
                "hash_id": hasher.hash_id(),
                "seed": output::hex(hasher.seed()),
            });
            fields.to_string()
        }
        false => {
            let hash = match &args.hash_key_file {
                Some(path) => format!("--hash-key-file {}", shell_word(path)),
                None => format!("--seed {:#x}", args.seed),
            };
            format!(
                "{}: {kind}, compact frame of {} keys, {} bytes, predicted false-positive rate {}; to be queried with \
                 --compact {hash} --transform {}, which it does not store",
                args.output.display(),
                seen.num_keys,
                frame.len(),
                output::rate(predicted_fpr),
                args.transform
            )
        }
    };
    match is_dash(&args.output) {
        true => exit::message(summary),
        false => output::print(|out| writeln!(out, "{summary}"))?,
    }
    Ok(())
}
