//! `filterblock list`: the files of a set.

use super::{SetFile, value};
use crate::block_file;
use crate::exit::{Code, Failure};
use crate::open_args::HashKeyArgs;
use crate::output::{self, field, object, put_bytes, shell_word};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// List the files of a filter set
///
/// A line for each file and column: the group that has the file's filter for the column, how many bytes the filter takes in
/// it, and the identity under which the set knows the file. A file without a group is 'maybe' for every value of the
/// column. `inspect` shows the columns.
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
    let mut rows = vec![["file", "column", "class", "group", "bytes", "identity"].map(str::to_owned).to_vec()];
    let (mut records, mut groups) = (Vec::new(), HashMap::new());
    for (number, group) in (0_u64..).zip(set.index.groups()) {
        let names = group.files().iter().filter_map(|&file| set.index.file_name(file));
        let of_group = (number, group.record().table.num_rows().div_ceil(8));
        groups.extend(names.map(|name| ((name, usize::from(group.record().column)), of_group)));
    }
    for (file, identity) in set.index.files() {
        for (column_number, (column, class)) in set.index.columns().enumerate() {
            let group = groups.get(&(file, column_number));
            let (number, num_bytes) = (group.map(|group| group.0), group.map_or(0, |group| group.1));
            let (class, identity) = (value::class_name(class), output::hex(identity));
            let mut record = Map::new();
            put_bytes(&mut record, "file", file);
            put_bytes(&mut record, "column", column);
            let more: [(&str, Value); 4] = [
                ("class", class.into()),
                ("group", number.into()),
                ("filter_len_bytes", num_bytes.into()),
                ("identity", identity.clone().into()),
            ];
            record.extend(object(more));
            records.push(record);
            let number = number.map_or("-".to_owned(), |number| number.to_string());
            let counts = [number, num_bytes.to_string(), identity];
            rows.push([field(file), field(column), class.to_owned()].into_iter().chain(counts).collect());
        }
    }
    output::print(|out| match args.json {
        true => records.iter().try_for_each(|record| out.json(record)),
        false => write!(out, "{}", output::table(&rows)),
    })?;
    Ok(Code::Ok.into())
}
