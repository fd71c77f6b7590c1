//! `filterblock list`: the files of a set.

use super::{SetFile, value};
use crate::block_file;
use crate::exit::{Code, Failure};
use crate::open_args::HashKeyArgs;
use crate::output::{self, field, object, put_bytes, shell_word};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// List the files of a filter set
///
/// A line for each file and column: how many blocks the file has for the column, of how many bytes, and the identity under
/// which the set knows the file. A file without blocks is 'maybe' for every value of the column. `inspect` shows the
/// columns.
#[derive(clap::Args)]
#[command(after_help = include_str!("../help/list.txt"))]
pub(crate) struct Args {
    /// The file with the set
    #[arg(value_name = "F")]
    set: PathBuf,
    #[command(flatten)]
    key: HashKeyArgs,
    /// Print an object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let key = args.key.read()?;
    if !block_file::is_set(&args.set) {
        if let Err(error) = File::open(&args.set) {
            return Err(block_file::unreadable(&args.set, &error).into());
        }
        let inspect = key.command(format_args!("inspect {}", shell_word(&args.set)));
        let message = format!("{} is not a filter set. To see what it is, run {inspect}", args.set.display());
        return Err(Failure::usage("list", message).into());
    }
    let set = SetFile::open(&args.set, &key)?;
    let mut rows = vec![["file", "column", "class", "blocks", "bytes", "identity"].map(str::to_owned).to_vec()];
    let (mut records, sizes) = (Vec::new(), set.sizes());
    for (file, identity) in set.index.files() {
        for (column, class) in set.index.columns() {
            let size = sizes.get(&(file, column)).copied().unwrap_or_default();
            let (class, identity) = (value::class_name(class), output::hex(identity));
            let mut record = Map::new();
            put_bytes(&mut record, "file", file);
            put_bytes(&mut record, "column", column);
            let more: [(&str, Value); 4] = [
                ("class", class.into()),
                ("num_blocks", size.num_blocks.into()),
                ("blocks_len_bytes", size.num_bytes.into()),
                ("identity", identity.clone().into()),
            ];
            record.extend(object(more));
            records.push(record);
            let counts = [size.num_blocks.to_string(), size.num_bytes.to_string(), identity];
            rows.push([field(file), field(column), class.to_owned()].into_iter().chain(counts).collect());
        }
    }
    output::print(|out| match args.json {
        true => records.iter().try_for_each(|record| out.json(record)),
        false => write!(out, "{}", output::table(&rows)),
    })?;
    Ok(Code::Ok.into())
}
