//! Commands on the directory of a store.

mod change_key;
mod fill;
mod keyed;
mod read;
mod rebuild;
mod refused;
mod repair;
mod stats;
mod verify;

use crate::*;
use std::collections::BTreeMap;

/// What to do about a damaged file.
const RESTORE: &str = "Restore the file from a copy made after its last write, then run `filterblock verify db`. Without \
                       one, run `filterblock repair db`: it shows what can be kept.";

/// A store `db` of 2000 rows in two tables of level 0: rows 0 to 1499, and 1000 to 1999.
fn with_store() -> Place {
    let place = Place::new();
    place.write("first.tsv", cells(0, 1500, "old"));
    place.write("second.tsv", cells(1000, 2000, "new"));
    place.expect(0, "fill db first.tsv --seed 7");
    place.expect(0, "fill db second.tsv");
    place
}

/// Lines, two cells for each row.
fn cells(start: u32, end: u32, value: &str) -> String {
    (start..end).map(|row| format!("row-{row:05}\ta\t{value}-{row}\nrow-{row:05}\tb\t{value}\n")).collect()
}

/// A process that has `db` open for writing and has written `lines`, which are in the log only.
///
/// Not a store of this process: a process that another test forks would inherit its lock until it executes another
/// program.
struct Writer(Child);

impl Writer {
    fn start(place: &Place, lines: &str) -> Self {
        let mut command = place.command(["fill", "db", "--ack", "1"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
        let acks = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert_eq!(acks.take(lines.lines().count()).count(), lines.lines().count());
        Self(child)
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// The files of the store `db` and their bytes.
fn files(place: &Place) -> BTreeMap<String, Vec<u8>> {
    let names = std::fs::read_dir(place.path("db")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names.map(|name| (name.clone(), place.read(&format!("db/{name}")))).collect()
}

/// The names of the tables of `db`, in the order of lookups.
fn tables(place: &Place) -> Vec<String> {
    let stats = place.json(0, "stats db --json");
    stats["tables"].as_array().unwrap().iter().map(|table| table["file"].as_str().unwrap().to_owned()).collect()
}

/// All filters of `db`, of all tables.
fn filters(place: &Place) -> Vec<Value> {
    let stats = place.json(0, "stats db --json");
    let tables = stats["tables"].as_array().unwrap();
    tables.iter().flat_map(|table| table["filters"].as_array().unwrap().clone()).collect()
}

fn flip(place: &Place, file: &str, at: usize) {
    place.write(file, flipped(&place.read(file), at));
}

/// The offset of a filter in a table of `db`.
fn filter_at(place: &Place, table: &str, index: usize) -> usize {
    let table: Value = serde_json::from_slice(&place.run(&format!("inspect db/{table} --json")).stdout).unwrap();
    table["filters"][index]["offset"].as_u64().unwrap() as usize
}
