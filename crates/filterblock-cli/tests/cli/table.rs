//! Tables of the store, through `inspect`, `verify` and `query`.

use crate::*;
use filterblock_kv::Purpose;

/// A table of 500 rows of two columns, with a filter for rows and one for cells, as `table.sst`.
fn with_table() -> Place {
    let place = Place::new();
    let policy = |kind| FilterPolicy::with_bits_per_key(kind, 10.0).unwrap();
    let options = StoreOptions::without_filters()
        .with_filter(Purpose::Row, policy(FilterKind::Blocked))
        .with_filter(Purpose::RowColumn, policy(FilterKind::Golomb))
        .with_seed(7);
    let store = Store::open_dir(&place.path("store"), options).unwrap();
    for row in 0..500 {
        let row = format!("row-{row:05}");
        store.put(row.as_bytes(), b"a", b"value").unwrap();
        store.put(row.as_bytes(), b"b", &[0xaa; 100]).unwrap();
    }
    copy_table(&place, &store);
    place
}

/// Flushes the store, and copies its only table.
fn copy_table(place: &Place, store: &Store) {
    store.flush().unwrap();
    let [table] = &store.stats().tables[..] else { panic!("one table") };
    std::fs::copy(place.path("store").join(&table.file), place.path("table.sst")).unwrap();
}

fn filters(place: &Place) -> Vec<Value> {
    let output = place.run("inspect table.sst --json");
    let table: Value = serde_json::from_slice(&output.stdout).unwrap();
    table["filters"].as_array().unwrap().clone()
}

#[test]
fn inspect_lists_the_filters_with_their_offsets() {
    let place = with_table();
    let table = place.json(0, "inspect table.sst --json");
    assert!(table["table"].as_u64().unwrap() > 0);
    assert_eq!(table["num_cells"], 1000);
    let file = place.read("table.sst");
    for (filter, (purpose, kind, num_entries)) in
        filters(&place).iter().zip([("row", "blocked", 500), ("row+column", "golomb", 1000)])
    {
        assert_eq!(filter["purpose"], purpose);
        assert_eq!(filter["transform"], purpose);
        assert_eq!(filter["kind"], kind);
        assert_eq!(filter["num_entries"], num_entries);
        assert_eq!(filter["seed"], "0x0000000000000007");
        // The bytes at the offset are a block, which opens from a separate file under its context.
        let at = filter["offset"].as_u64().unwrap() as usize;
        let len = filter["block_len_bytes"].as_u64().unwrap() as usize;
        place.write("cut.fb", &file[at..at + len]);
        let context = filter["context"].as_str().unwrap();
        assert_eq!(place.json(0, &format!("inspect cut.fb --json --context {context}"))["kind"], kind);
        place.expect_failure(3, "inspect cut.fb");
    }
    assert_eq!(filters(&place).len(), 2);
    let text = place.expect(0, "inspect table.sst");
    assert_eq!(text.matches("\n  offset ").count(), 2, "{text}");
}

#[test]
fn verify_checks_every_cell() {
    let place = with_table();
    let report = place.json(0, "verify table.sst --json");
    let start = format!("table.sst: ok: table {}, 1000 cells in ", report["table"]);
    assert!(place.expect(0, "verify table.sst").starts_with(&start));
    let missing = "missing_in_row_filter missing_in_row_column_filter missing_in_prefix_filter missing_in_range_filter";
    let expected = format!("file ok table num_cells num_tombstones num_filters {missing}");
    assert_eq!(field_names(&report), expected);
    assert_eq!((&report["num_cells"], &report["num_filters"]), (&1000.into(), &2.into()));
    place.write("keys.txt", "row-00001\n");
    assert!(place.expect_failure(2, "verify table.sst --keys keys.txt").contains("leave out --keys"));
}

#[test]
fn a_damaged_filter_is_named_with_its_offset() {
    let place = with_table();
    let offset = filters(&place)[1]["offset"].as_u64().unwrap();
    place.write("table.sst", flipped(&place.read("table.sst"), offset as usize + 100));
    let start = format!("table.sst: filter block at offset {offset} (");
    let message = place.expect_failure(3, "verify table.sst");
    assert!(message.starts_with(&start) && message.contains("golomb v1): payload digest stored 0x"), "{message}");
    assert!(message.contains("lookups stay correct but slower"), "{message}");
    let (_, message) = ended(3, &place.run("inspect table.sst --json"));
    assert!(message.starts_with(&start));
    let filters = filters(&place);
    assert_eq!(filters[0]["kind"], "blocked");
    assert!(filters[1]["error"].as_str().unwrap().starts_with("payload digest stored"));
}

#[test]
fn damaged_cells_and_structure_are_found() {
    let place = with_table();
    let file = place.read("table.sst");
    // The middle of the first data block, and the footer's fields.
    for at in [2000, file.len() - 4096 + 40] {
        place.write("bad.sst", flipped(&file, at));
        let message = place.expect_failure(3, "verify bad.sst");
        assert!(message.starts_with("bad.sst: at offset ") && message.contains("checksum stored"), "{message}");
    }
    place.write("cut.sst", &file[..file.len() - 4096]);
    place.expect_failure(3, "verify cut.sst");
    place.expect_failure(3, "inspect cut.sst");
}

/// A table `table.sst` of 3000 rows whose filters of rows, of cells and of ranges are partitioned.
fn with_partitioned_table() -> Place {
    let place = Place::new();
    let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0).unwrap();
    let options = StoreOptions::without_filters()
        .with_filter(Purpose::Row, policy.clone())
        .with_filter(Purpose::RowColumn, policy)
        .with_range_filter(RangePolicy::with_bits_per_key(14.0).unwrap())
        .with_partition_bytes(512)
        .with_seed(7);
    let store = Store::open_dir(&place.path("store"), options).unwrap();
    for row in 0..3000 {
        store.put(format!("row-{row:05}").as_bytes(), b"a", b"value").unwrap();
    }
    copy_table(&place, &store);
    place
}

#[test]
fn partitioned_filters_are_shown_and_checked_like_others() {
    let place = with_partitioned_table();
    let table = place.json(0, "inspect table.sst --json");
    assert_eq!(table["num_unknown_filters"], 0);
    // The store's figures.
    let stats = place.json(0, "stats store --json");
    let of_store = stats["tables"][0]["filters"].as_array().unwrap();
    assert_eq!((filters(&place).len(), of_store.len()), (3, 2));
    for (filter, of_store) in filters(&place).iter().zip(of_store) {
        assert_eq!(filter["num_entries"], 3000);
        assert!(filter["num_partitions"].as_u64().unwrap() > 5, "{filter}");
        assert_eq!((&filter["num_unusable_partitions"], &filter["seed"]), (&0.into(), &"0x0000000000000007".into()));
        for (name, name_of_store) in [
            ("purpose", "purpose"),
            ("kind", "kind"),
            ("block_len_bytes", "bytes"),
            ("bits_per_key", "bits_per_key"),
            ("predicted_fpr", "predicted_fpr"),
        ] {
            assert_eq!(filter[name], of_store[name_of_store], "{name}");
        }
    }
    let (range, of_store) = (&filters(&place)[2], &stats["tables"][0]["range_filter"]);
    assert!(range["num_partitions"].as_u64().unwrap() > 5 && range["num_unusable_partitions"] == 0, "{range}");
    for (name, name_of_store) in [
        ("num_entries", "keys"),
        ("block_len_bytes", "bytes"),
        ("bits_per_key", "bits_per_key"),
        ("index_len_bytes", "held_bytes"),
    ] {
        assert_eq!(range[name], of_store[name_of_store], "{name}");
    }
    let text = place.expect(0, "inspect table.sst");
    assert_eq!(text.matches("\n  num_partitions ").count(), 3, "{text}");
    let report = place.json(0, "verify table.sst --json");
    assert_eq!((&report["num_filters"], &report["missing_in_row_filter"]), (&3.into(), &0.into()));
    assert_eq!(report["missing_in_range_filter"], 0);
}

#[test]
fn damage_to_a_partitioned_filter_is_named_with_its_offset() {
    let place = with_partitioned_table();
    let sound = place.read("table.sst");
    for (which, purpose) in [(1, "row+column"), (2, "range")] {
        place.write("table.sst", &sound);
        check_damage(&place, &sound, which, purpose);
    }
}

/// Damages a filter's partitions, its index, and a partition and a data block.
fn check_damage(place: &Place, sound: &[u8], which: usize, purpose: &str) {
    let filter = filters(place)[which].clone();
    let number = |name: &str| filter[name].as_u64().unwrap() as usize;
    let (start, end) = (number("offset"), number("offset") + number("len_bytes"));
    let is_block = |at: &usize| sound[*at..].starts_with(&filterblock::MAGIC);
    let partitions: Vec<usize> = (start..end).step_by(64).filter(is_block).collect();
    assert_eq!(partitions.len(), number("num_partitions"));
    for (i, at) in partitions.iter().enumerate() {
        place.write("table.sst", flipped(sound, at + 100));
        let start = format!("table.sst: filter block at offset {at} (");
        let part = format!("Partition {i} of the {purpose} filter ignored: lookups of its keys stay correct");
        for line in ["verify table.sst", "inspect table.sst --json"] {
            let (_, message) = ended(3, &place.run(line));
            assert!(message.starts_with(&start) && message.contains(&part), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
        let filters = filters(place);
        assert_eq!(filters[which]["num_unusable_partitions"], 1);
        assert_eq!((&filters[which]["num_entries"], &filters[0]["num_unusable_partitions"]), (&3000.into(), &0.into()));
    }
    // The index, which costs the whole filter.
    let index_at = end - number("index_len_bytes");
    place.write("table.sst", flipped(sound, index_at + 70));
    let message = place.expect_failure(3, "verify table.sst");
    assert!(message.starts_with(&format!("table.sst: index of partitions at offset {index_at} (")), "{message}");
    assert!(message.contains("Filter ignored: lookups stay correct but slower."), "{message}");
    // Cells are still checked, and probe what is left.
    place.write("table.sst", flipped(&flipped(sound, partitions[0] + 100), 2000));
    let message = place.expect_failure(3, "verify table.sst");
    assert_eq!(message.lines().count(), 2, "{message}");
}

#[test]
fn query_points_to_inspect() {
    let place = with_table();
    let message = place.expect_failure(2, "query table.sst row-00001");
    assert!(message.contains("`filterblock inspect table.sst`"), "{message}");
}

/// A store whose manifest is lost or damaged is read table by table: all cells and deletions, but those in damaged
/// blocks.
#[test]
fn tables_are_read_without_their_manifest() {
    let place = Place::new();
    let cells: String = (0..500).map(|row| format!("row-{row:05}\ta\tvalue-{row}\nrow-{row:05}\tb\t\\N\n")).collect();
    place.write("cells.tsv", &cells);
    place.write("key", [7; 16]);
    place.expect(0, "fill db cells.tsv --hash-key-file key");
    let table = place.json(0, "stats db --hash-key-file key --json")["tables"][0]["file"].as_str().unwrap().to_owned();
    let table = format!("db/{table}");
    for manifest in [None, Some("damaged")] {
        std::fs::remove_file(place.path("db/MANIFEST")).unwrap();
        manifest.into_iter().for_each(|bytes| place.write("db/MANIFEST", bytes));
        let message = place.expect_failure(3, "scan db --hash-key-file key");
        let [_, scan] = &crate::commands(&message)[..] else { panic!("{message}") };
        assert_eq!(*scan, format!("filterblock scan {table} --hash-key-file key"));
        assert!(place.follow(scan).stdout == cells.as_bytes());
        assert_eq!(place.expect(0, &format!("scan {table}")), cells);
        place.write("db/MANIFEST", "");
    }
    let lines = |options: &str| place.expect(0, &format!("scan {table} {options}")).lines().count();
    assert_eq!((lines("--prefix row-0012"), lines("--from row-00003 --to row-00005"), lines("--limit 7")), (20, 4, 7));
    assert_eq!((lines("--from b --to a"), lines("--from row-00499 --to="), lines("--to row-00001")), (0, 2, 2));
    let json = place.expect(0, &format!("scan {table} --json --prefix row-00007"));
    let expected = "{\"row\":\"row-00007\",\"column\":\"a\",\"value\":\"value-7\"}\n\
                    {\"row\":\"row-00007\",\"column\":\"b\",\"deleted\":true}\n";
    assert_eq!(json, expected);
    // A damaged block costs its own cells.
    place.write(&table, flipped(&place.read(&table), 4096 + 100));
    let (printed, message) = ended(3, &place.run(&format!("scan {table}")));
    assert!(message.starts_with(&format!("{table}: at offset 4096: ")), "{message}");
    let num_printed = printed.lines().count();
    assert!((700..950).contains(&num_printed) && printed.ends_with("row-00499\tb\t\\N\n"), "{num_printed}");
    assert!(printed.lines().all(|line| cells.contains(line)));
}
