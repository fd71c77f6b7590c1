//! Directories that cannot be opened: the message, the code, and nothing changed.

use super::{RESTORE, Writer, files, tables, with_store};
use crate::*;
use std::io::Read;
use testkit::assembled::{masked_crc, put};

/// Every command fails on `db` with `code` and a message that begins with `start`, ends with `end`, and names an
/// existing command.
#[track_caller]
fn refused(place: &Place, code: i32, start: &str, end: &str) {
    let before = files(place);
    for line in ["get db row", "scan db", "stats db", "rebuild db"] {
        let message = place.expect_failure(code, line);
        let expected = format!("{start}. Nothing was read. {end}\n");
        assert!(message.starts_with(start), "{line}: {message}, not {expected}");
        assert!(message.ends_with(&format!(". Nothing was read. {end}\n")), "{line}: {message}, not {expected}");
    }
    for line in ["repair db", "repair db --apply"] {
        let message = place.expect_failure(code, line);
        let expected = format!(". Nothing was changed. {end}\n");
        assert!(message.starts_with(start) && message.ends_with(&expected), "{line}: {message}");
    }
    let message = place.expect_failure(code, "verify db");
    let end = format!(". Nothing else was checked. {end}\n");
    assert!(message.starts_with(start) && message.ends_with(&end), "{message}");
    let report: serde_json::Value = serde_json::from_slice(&place.run("verify db --json").stdout).unwrap();
    assert_eq!((&report["ok"], &report["exit_code"]), (&false.into(), &code.into()));
    assert_eq!(report["errors"][0], message.trim_end());
    assert!(files(place) == before);
    if let Some((_, command)) = end.split_once("`filterblock ") {
        let subcommand = command.split([' ', '`']).next().unwrap();
        let line = if subcommand.starts_with('-') { subcommand.to_owned() } else { format!("{subcommand} --help") };
        place.expect(0, &line);
    }
}

/// The same, and the store cannot be written to either.
#[track_caller]
fn refused_to_all(place: &Place, code: i32, start: &str, end: &str) {
    refused(place, code, start, end);
    place.write("cells.tsv", "row\tcolumn\tvalue\n");
    let before = files(place);
    let message = place.expect_failure(code, "fill db cells.tsv");
    assert!(message.starts_with(start) && message.ends_with(&format!(". Nothing was written. {end}\n")), "{message}");
    assert!(files(place) == before);
}

/// Only the table's rows are refused: by lookups with `code`, and by `fill` as a whole.
#[track_caller]
fn one_table_refused(place: &Place, code: i32, start: &str, end: &str) {
    let before = files(place);
    for line in ["verify db", "stats db"] {
        let (_, message) = ended(3, &place.run(line));
        assert!(message.lines().any(|line| line.starts_with(start)), "{line}: {message}");
        assert!(message.contains(". Lookups of rows from ") && message.contains(RESTORE), "{line}: {message}");
    }
    for line in ["scan db", "rebuild db"] {
        let message = place.expect_failure(code, line);
        assert!(message.contains(start) && message.ends_with(&format!(" {end}\n")), "{line}: {message}");
    }
    place.write("cells.tsv", "row\tcolumn\tvalue\n");
    let message = place.expect_failure(code, "fill db cells.tsv");
    assert!(message.starts_with(start) && message.ends_with(&format!(". Nothing was written. {end}\n")), "{message}");
    fs::remove_file(place.path("cells.tsv")).unwrap();
    assert!(files(place) == before);
}

const RESTORE_ALL: &str = "Without it, deleted cells could not be told from live ones, so it is not repaired. Restore all \
                           files of the store from one copy, which has nothing that was written since, then run \
                           `filterblock verify db`. Without a copy, run `filterblock scan db/000006.sst`: it prints \
                           the cells of this table. So for the others.";

#[test]
fn directories_that_hold_no_store() {
    let place = Place::new();
    fs::create_dir(place.path("db")).unwrap();
    refused(&place, 4, "db: no store is here", "To create one, run `filterblock fill db CELLS`.");
    for i in 0..5 {
        place.write(&format!("db/{i}.txt"), "text");
    }
    let start = "db: not a store: there is no MANIFEST, but 5 other files, among them 0.txt, 1.txt, 2.txt";
    let end = "Name the directory of a store; `filterblock fill --help` shows how one is made.";
    refused_to_all(&place, 4, start, end);
    for line in ["get none row", "scan none", "stats none", "rebuild none"] {
        let message = place.expect_failure(4, line);
        assert!(message.starts_with("none: no store is here. Nothing was read. To create one, run "), "{message}");
        assert!(!place.path("none").exists());
    }
    place.write("file", "text");
    let message = place.expect_failure(4, "get file row");
    let start = "file: cannot open the store: Not a directory (os error 20). Nothing was read. ";
    assert!(message.starts_with(start), "{message}");
    assert!(message.ends_with("run `filterblock inspect file`.\n"), "{message}");
}

#[test]
fn stores_that_another_process_has_open() {
    let place = with_store();
    let end = "Close it in that process and run the command again; `fuser db/LOCK` names the process.";
    let writer = Writer::start(&place, "row\tcolumn\tvalue\n");
    // It can be read, and not written to.
    for line in ["stats db", "scan db", "verify db"] {
        place.expect(0, line);
    }
    place.write("cells.tsv", "row\tcolumn\tvalue\n");
    for (line, done) in [("rebuild db", "changed"), ("repair db", "changed"), ("fill db cells.tsv", "written")] {
        let message = place.expect_failure(4, line);
        assert_eq!(message, format!("db: the store is open elsewhere. Nothing was {done}. {end}\n"), "{line}");
    }
    writer.kill();
    assert_eq!(place.expect(0, "get db row column"), "value");
}

#[test]
fn readers_exclude_nobody() {
    let place = Place::new();
    place.write("cells.tsv", crate::spread_cells(3000, 100));
    place.expect(0, "fill db cells.tsv");
    // More than a pipe holds, and it is not read.
    let mut reader = place.command(["scan", "db"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0];
    reader.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    place.expect(0, "verify db");
    place.expect(0, "rebuild db");
    reader.kill().unwrap();
    reader.wait().unwrap();
}

#[test]
fn missing_files() {
    let place = with_store();
    let table = &tables(&place)[0];
    fs::rename(place.path(&format!("db/{table}")), place.path("kept")).unwrap();
    one_table_refused(&place, 3, &format!("db/{table}: missing, though the manifest names it"), RESTORE);
    fs::rename(place.path("kept"), place.path(&format!("db/{table}"))).unwrap();
    place.expect(0, "verify db");
    fs::rename(place.path("db/MANIFEST"), place.path("kept")).unwrap();
    // Two tables and a log.
    let start = "db: the manifest is missing, which names the live ones of the 3 tables and logs here";
    refused_to_all(&place, 3, start, RESTORE_ALL);
    fs::rename(place.path("kept"), place.path("db/MANIFEST")).unwrap();
    place.expect(0, "verify db");
}

#[test]
fn damaged_files() {
    let place = with_store();
    let names = tables(&place);
    let table = format!("db/{}", names[0]);
    let intact = place.read(&table);
    let footer = intact.len() - 4096;
    super::flip(&place, &table, footer + 50);
    one_table_refused(&place, 3, &format!("{table}: at offset {footer}: footer checksum stored 0x"), RESTORE);
    place.write(&table, place.read(&format!("db/{}", names[1])));
    let [named, stored] = [0, 1].map(|i| names[i].strip_suffix(".sst").unwrap().parse::<u64>().unwrap());
    let start = format!("{table}: the number is {named} in the name, {stored} in the footer");
    one_table_refused(&place, 3, &start, RESTORE);
    place.write(&table, &intact[..4096]);
    one_table_refused(&place, 3, &format!("{table}: at offset 0: no footer here"), RESTORE);
    place.write(&table, &intact);
    place.expect(0, "verify db");
    super::flip(&place, "db/MANIFEST", 60);
    refused_to_all(&place, 3, "db/MANIFEST: at offset ", RESTORE_ALL);
}

#[test]
fn directories_given_as_blocks() {
    let place = with_store();
    for line in ["inspect db", "query db row"] {
        let message = place.expect_failure(4, line);
        assert!(message.starts_with("db: cannot read: is a directory. "), "{message}");
        assert!(message.ends_with("If it is a store, run `filterblock stats db`.\n"), "{message}");
    }
}

#[test]
fn tables_of_a_newer_version() {
    let place = with_store();
    let table = format!("db/{}", tables(&place)[0]);
    let mut bytes = place.read(&table);
    let footer = bytes.len() - 4096;
    bytes[footer + 8] = 9;
    // The checksum covers the file number, which is 0 in footers, and the offset.
    let mut place_of_page = [0; 16];
    put(&mut place_of_page[8..], footer as u64);
    let crc = masked_crc(&[&place_of_page[..], &bytes[footer..footer + 4092]].concat());
    put(&mut bytes[footer + 4092..], crc.into());
    place.write(&table, bytes);
    let start = format!("{table}: version 9 is newer than this reader's 1");
    refused_to_all(&place, 3, &start, "A newer filterblock reads it; `filterblock --version` shows this one's.");
}
