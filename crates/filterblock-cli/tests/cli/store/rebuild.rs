//! `filterblock rebuild`.

use super::{Writer, files, filter_at, filters, flip, tables, with_store};
use crate::*;

fn column(rows: &[Value], name: &str) -> Vec<Value> {
    rows.iter().map(|row| row[name].clone()).collect()
}

#[test]
fn rebuild_changes_filters_and_no_cells() {
    let place = with_store();
    let (cells, before) = (place.expect(0, "scan db"), files(&place));
    let report = place.json(0, "rebuild db --kind golomb --fpr 0.1% --json");
    assert_eq!((&report["store"], &report["seed"]), (&"db".into(), &Value::Null));
    let rebuilt = report["tables"].as_array().unwrap();
    assert_eq!(column(rebuilt, "file"), tables(&place));
    assert_eq!(column(&filters(&place), "kind"), ["golomb"; 4]);
    for filter in filters(&place) {
        assert!((0.0005..0.0011).contains(&filter["predicted_fpr"].as_f64().unwrap()), "{filter}");
    }
    let stats = place.json(0, "stats db --json");
    for (rebuilt, table) in rebuilt.iter().zip(stats["tables"].as_array().unwrap()) {
        assert_eq!(rebuilt["filter_file"], table["filter_file"]);
        let bytes: u64 = table["filters"].as_array().unwrap().iter().map(|f| f["bytes"].as_u64().unwrap()).sum();
        assert_eq!((&rebuilt["bytes_now"], rebuilt["bytes_before"] == bytes), (&bytes.into(), false));
    }
    assert_eq!(place.expect(0, "scan db"), cells);
    let after = files(&place);
    for table in tables(&place) {
        assert!(before[&table] == after[&table], "{table}");
    }
    place.expect(0, "verify db");
    let text = place.expect(0, "rebuild db --bits-per-key 12");
    assert!(text.ends_with("db: new filters for 2 tables\n"), "{text}");
    assert_eq!(column(&filters(&place), "kind"), ["golomb"; 4], "a size alone keeps the kind");
    assert!(filters(&place).iter().all(|filter| (11.5..12.5).contains(&filter["bits_per_key"].as_f64().unwrap())));
    place.expect(0, "rebuild db --kind none");
    assert_eq!(filters(&place), [] as [Value; 0]);
    place.expect(0, "rebuild db");
    assert_eq!(filters(&place), [] as [Value; 0], "as they are");
    place.expect(0, "rebuild db --kind bloom");
    assert_eq!(column(&filters(&place), "kind"), ["bloom"; 4]);
}

#[test]
fn rebuilding_without_options_keeps_kinds_and_sizes() {
    let place = Place::new();
    place.write("cells.tsv", crate::spread_cells(6000, 100));
    let purposes = |place: &Place| column(&filters(place), "purpose");
    for kind in crate::KINDS {
        let prefixes = if kind == "bloom" { "--prefix-delimiter -:2" } else { "--prefix-len 7" };
        let options = "--bits-per-key 13.3 --memtable-bytes 64KiB";
        place.expect(0, &format!("fill db cells.tsv --kind {kind} {options} {prefixes}"));
        let (before, of) = (filters(&place), purposes(&place));
        assert!(of.iter().any(|purpose| purpose == "prefix"), "{kind}");
        for _ in 0..3 {
            place.expect(0, "rebuild db");
            assert_eq!(purposes(&place), of, "{kind}");
        }
        for (before, now) in before.iter().zip(filters(&place)) {
            assert_eq!((&before["kind"], &before["entries"]), (&now["kind"], &now["entries"]));
            if now["entries"].as_u64().unwrap() >= 1000 {
                let (before, now) = (before["bits_per_key"].as_f64().unwrap(), now["bits_per_key"].as_f64().unwrap());
                assert!((now / before - 1.0).abs() < 0.02, "{kind}: {before} {now}");
            }
        }
        assert_eq!(place.expect(0, "scan db --prefix row-abc"), {
            let all = place.expect(0, "scan db");
            all.split_inclusive('\n').filter(|line| line.starts_with("row-abc")).collect::<String>()
        });
        std::fs::remove_dir_all(place.path("db")).unwrap();
    }
}

#[test]
fn range_filters_are_shown_verified_and_kept_until_a_size_is_given() {
    let place = Place::new();
    place.write("cells.tsv", crate::spread_cells(6000, 100));
    place.expect(0, "fill db cells.tsv --range-bits 16");
    let filter = |place: &Place| place.json(0, "stats db --json")["tables"][0]["range_filter"].clone();
    let bits = |place: &Place| filter(place)["bits_per_key"].as_f64().unwrap();
    let (all, written, table) = (place.expect(0, "scan db"), filter(&place), tables(&place)[0].clone());
    assert_eq!((&written["keys"], (10.0..16.5).contains(&bits(&place))), (&6000.into(), true), "{written}");
    let show = |line: &str| place.expect(0, line).lines().filter(|line| line.contains("range")).count();
    assert_eq!(["stats db", "verify db"].map(show), [1; 2]);
    let shown = place.json(0, &format!("inspect db/{table} --json"))["filters"][2].clone();
    let (purpose, keys) = (&shown["purpose"], &shown["num_entries"]);
    assert_eq!((purpose, keys, &shown["block_len_bytes"]), (&"range".into(), &written["keys"], &written["bytes"]));
    assert_eq!(place.json(0, &format!("verify db/{table} --json"))["missing_in_range_filter"], 0);

    place.expect(0, "rebuild db --kind bloom");
    assert!((bits(&place) / written["bits_per_key"].as_f64().unwrap() - 1.0).abs() < 0.1, "kept");
    place.expect(0, "rebuild db --range-bits 5");
    assert!(bits(&place) < 6.0);
    assert_eq!(column(&filters(&place), "kind"), ["bloom"; 2], "the others are kept");
    assert_eq!(place.expect(0, "scan db"), all);

    // Of a table's own file, which `rebuild` leaves as it is.
    let at = filter_at(&place, &table, 2);
    flip(&place, &format!("db/{table}"), at + 90);
    let message = stderr(&place.run(&format!("verify db/{table}")));
    assert!(message.contains(&format!("filter block at offset {at} (")) && message.contains("range v"), "{message}");
    for bad in ["fill db cells.tsv --range-bits 1", "rebuild db --range-bits many"] {
        place.expect_failure(2, bad);
    }
}

#[test]
fn a_path_selects_one_table() {
    let place = with_store();
    let [newer, older] = &tables(&place)[..] else { panic!("two tables") };
    let files_of = |place: &Place| {
        let stats = place.json(0, "stats db --json");
        column(stats["tables"].as_array().unwrap(), "filter_file")
    };
    place.expect(0, &format!("rebuild db/{older} --kind golomb"));
    assert_eq!(column(&filters(&place), "kind"), ["blocked", "blocked", "golomb", "golomb"]);
    let [Value::Null, Value::String(filter_file)] = &files_of(&place)[..] else { panic!("one file") };

    // A file of filters selects its table, and may be damaged or missing.
    flip(&place, &format!("db/{filter_file}"), 100);
    let message = stderr(&place.run("verify db"));
    assert!(message.contains(&format!("Run `filterblock rebuild db/{filter_file}`.")), "{message}");
    place.expect(0, &format!("rebuild db/{filter_file}"));
    place.expect(0, "verify db");
    let [_, Value::String(intact)] = &files_of(&place)[..] else { panic!("one file") };
    assert!(place.expect_failure(2, &format!("verify db/{intact}")).contains("give the store's directory"));
    let [_, Value::String(filter_file)] = &files_of(&place)[..] else { panic!("one file") };
    std::fs::remove_file(place.path(&format!("db/{filter_file}"))).unwrap();
    let message = stderr(&place.run("verify db"));
    assert!(message.contains(&format!("Run `filterblock rebuild db/{filter_file}`.")), "{message}");
    place.expect(0, &format!("rebuild db/{filter_file}"));
    place.expect(0, "verify db");

    // From within the directory too.
    let mut command = place.command(["rebuild", newer, "--kind", "bloom"]);
    assert_eq!(command.current_dir(place.path("db")).output().unwrap().status.code(), Some(0));
    assert_eq!(filters(&place)[0]["kind"], "bloom");
    for name in ["db/000099.sst", "db/x.sst", "db/000099.flt"] {
        let message = place.expect_failure(2, &format!("rebuild {name}"));
        assert!(message.contains(&format!("{name} is no table of the store db")), "{message}");
    }
}

#[test]
fn unusable_filters_are_rebuilt_like_the_others() {
    let place = Place::new();
    for num_cells in [3000, 2000] {
        place.write("cells.tsv", crate::spread_cells(num_cells, 100));
        place.expect(0, "fill db cells.tsv --kind golomb --bits-per-key 15");
    }
    let table = &tables(&place)[0];
    for filter in 0..2 {
        flip(&place, &format!("db/{table}"), filter_at(&place, table, filter) + 80);
    }
    place.expect(0, &format!("rebuild db/{table}"));
    place.expect(0, "verify db");
    assert_eq!(column(&filters(&place), "kind"), ["golomb"; 4]);
    assert!(filters(&place).iter().all(|filter| (14.8..15.2).contains(&filter["bits_per_key"].as_f64().unwrap())));
}

#[test]
fn seeds_are_replaced() {
    let place = with_store();
    assert_eq!(place.json(0, "rebuild db --seed 0x2a --json")["seed"], "0x000000000000002a");
    place.expect(0, "verify db");
    let random = |place: &Place| place.json(0, "rebuild db --random-seed --json")["seed"].clone();
    assert_ne!(random(&place), random(&place));
    place.expect(0, "verify db");
    place.expect_failure(2, "rebuild db --seed 1 --random-seed");
    // Later tables have the new seed, of a store without tables, too.
    place.write("none.tsv", "");
    place.write("more.tsv", "row\tcolumn\tvalue\n");
    place.expect(0, "fill new none.tsv");
    for store in ["db", "new"] {
        place.expect(0, &format!("rebuild {store} --seed 77"));
        place.expect(0, &format!("fill {store} more.tsv"));
        let stats = place.json(0, &format!("stats {store} --json"));
        let table = stats["tables"][0]["file"].as_str().unwrap();
        let table = place.json(0, &format!("inspect {store}/{table} --json"));
        assert_eq!(table["filters"][0]["seed"], "0x000000000000004d");
    }
}

#[test]
fn cells_in_the_log_become_a_table_with_filters() {
    let place = Place::new();
    place.write("cells.tsv", "flushed\tc\tvalue\n");
    place.expect(0, "fill db cells.tsv");
    Writer::start(&place, "logged\tc\tvalue\n").kill();
    place.expect(0, "rebuild db --kind golomb --prefix-len 4");
    assert_eq!(column(&filters(&place), "kind"), ["golomb"; 6]);
    assert_eq!(place.expect(0, "scan db"), "flushed\tc\tvalue\nlogged\tc\tvalue\n");
    place.expect(0, "verify db");
}

#[test]
fn impossible_requests_are_refused_and_nothing_is_changed() {
    let place = with_store();
    place.expect(0, "rebuild db");
    let before = files(&place);
    for options in
        ["--bits-per-key 1", "--kind golomb --fpr 2", "--kind cuckoo", "--fpr 1% --bits-per-key 8", "--seed x"]
    {
        place.expect_failure(2, &format!("rebuild db {options}"));
    }
    assert!(files(&place) == before);
}
