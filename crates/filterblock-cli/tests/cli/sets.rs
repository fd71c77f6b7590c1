//! Filter sets, through every subcommand that reads or refuses them.

use crate::*;
use filterblock::KeyHasher;
use filterblock_set::{FilterSet, Opening, SetBuilder, SetColumn, Sizing, TimeUnit, Value, ValueClass};

/// A column with a rate so low that no absent value of these tests passes.
fn column(name: &str, class: ValueClass) -> SetColumn {
    SetColumn::new(name, class, Sizing::new(100, 0.000_000_1).unwrap())
}

fn builder(columns: &[SetColumn]) -> SetBuilder {
    SetBuilder::new(&KeyHasher::new(7), columns).unwrap()
}

fn finish(builder: SetBuilder) -> Vec<u8> {
    let mut set = Vec::new();
    builder.finish(&mut set).unwrap();
    set
}

/// A set `files.fbs` of three files, of which the last has no words.
fn with_set() -> Place {
    let place = Place::new();
    place.write("files.fbs", set_under(&KeyHasher::new(7)));
    place
}

fn columns() -> [SetColumn; 2] {
    [column("id", ValueClass::Number), column("word", ValueClass::Text)]
}

fn set_under(hasher: &KeyHasher) -> Vec<u8> {
    let mut builder = SetBuilder::new(hasher, &columns()).unwrap();
    for (number, name) in (0..).zip(["a.parquet", "b.parquet", "c\t.parquet"]) {
        let mut file = builder.file(name, 100 + number as u64).unwrap();
        (0..100).for_each(|id| assert!(file.add(0, Value::Int(id * 3 + number))));
        if number < 2 {
            assert!(file.add(1, Value::Text(if number == 0 { "Ulm" } else { "Bonn" })));
        } else {
            file.give_up(1);
        }
        file.finish().unwrap();
    }
    finish(builder)
}

/// Files of which the last writer did not know are not passed over in silence.
#[test]
fn what_another_writer_appended_is_reported() {
    let place = with_set();
    let set = place.read("files.fbs");
    let Ok(Opening::Ready(old)) = FilterSet::open(set.len() as u64, &set, None) else { panic!("an intact set") };
    let more = ["d.parquet", "e.parquet"].map(|name| {
        let (mut builder, mut appended) = (builder(&columns()), Vec::new());
        let mut file = builder.file(name, 1).unwrap();
        file.add(0, Value::Int(7));
        file.finish().unwrap();
        builder.finish_append(&old, |_| false, &mut appended).unwrap();
        appended
    });
    let foreign_end = set.len() + more[0].len();
    place.write("files.fbs", [&set[..], &more[0], &more[1]].concat());
    // A value that no shown file has may be in the others.
    let queries = ["query files.fbs 7 --column id", "query files.fbs 999999937 --column id"];
    for line in ["inspect files.fbs", "list files.fbs", "verify files.fbs"].into_iter().chain(queries) {
        let output = place.run(line);
        let expected = format!("files.fbs: the {} bytes at offset {} were appended", more[0].len(), set.len());
        assert!(output.status.success() && stderr(&output).starts_with(&expected), "{line}: {}", stderr(&output));
        assert!(!stderr(&output).contains("  "), "{}", stderr(&output));
    }
    let all = place.read("files.fbs");
    place.write("others.fbs", &all[..foreign_end]);
    place.write("torn.fbs", &all[..foreign_end - 1]);
    assert!(place.expect_failure(2, "query torn.fbs 7 --column id").contains("its end is damaged or missing"));
    let output = place.run("list others.fbs");
    assert!(stderr(&output).is_empty() && String::from_utf8(output.stdout).unwrap().contains("d.parquet"));
}

#[test]
fn a_set_without_files_says_so() {
    let place = Place::new();
    let mut builder = builder(&columns());
    builder.allow_empty();
    place.write("none.fbs", finish(builder));
    let output = place.run("query none.fbs 7 --column id");
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(stderr(&output).starts_with("none.fbs: a filter set of no files"));
}

#[test]
fn inspect_shows_the_columns() {
    let place = with_set();
    let shown = place.json(0, "inspect files.fbs --json");
    let names = "kind version num_files num_columns set_len_bytes hash seed columns";
    assert_eq!(field_names(&shown), names);
    assert_eq!((&shown["kind"], &shown["num_files"], &shown["num_columns"]), (&"set".into(), &3.into(), &2.into()));
    assert_eq!(shown["seed"], "0x0000000000000007");
    assert_eq!(shown["set_len_bytes"], place.read("files.fbs").len());
    let [id, word] = &shown["columns"].as_array().unwrap()[..] else { panic!("{shown}") };
    assert_eq!(field_names(id), "column class num_groups num_units groups_len_bytes units_per_lookup");
    assert_eq!((&id["column"], &id["class"], &word["class"]), (&"id".into(), &"number".into(), &"text".into()));
    // Of files of 100 keys and of one, at a rate below 10^-6.
    for (column, num_units) in [(id, 8), (word, 8)] {
        assert_eq!((&column["num_groups"], &column["units_per_lookup"]), (&1.into(), &8.into()));
        assert!(column["num_units"].as_u64().unwrap() >= num_units, "{column}");
    }
    let text = place.expect(0, "inspect files.fbs");
    assert_eq!((text.lines().count(), text.matches("\ncolumn\n").count()), (7 + 2 * 7, 2), "{text}");
}

#[test]
fn list_has_a_line_for_each_file_and_column() {
    let place = with_set();
    let text = place.expect(0, "list files.fbs");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((rows.len(), &rows[0][..3]), (7, &["file", "column", "class"][..]), "{text}");
    assert_eq!((&rows[1][..4], rows[1][5]), (&["a.parquet", "id", "number", "0"][..], "0x0000000000000064"));
    assert_eq!(rows[6][..5], ["c\\t.parquet", "word", "text", "-", "0"], "{text}");
    let records = place.expect(0, "list files.fbs --json");
    let records: Vec<serde_json::Value> = records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(field_names(&records[0]), "file column class group filter_len_bytes identity");
    assert_eq!([1, 3, 5].map(|word| records[word]["group"].as_u64()), [Some(1), Some(1), None]);
    // The groups are the filters of their files, the units' checks, and fewer than 8 bits a unit.
    let (shown, mut in_groups) = (place.json(0, "inspect files.fbs --json"), 0);
    for column in shown["columns"].as_array().unwrap() {
        in_groups += column["groups_len_bytes"].as_u64().unwrap() - 8 * column["num_units"].as_u64().unwrap();
    }
    let filters = records.iter().map(|record| record["filter_len_bytes"].as_u64().unwrap()).sum::<u64>();
    assert!(in_groups.abs_diff(filters) < 100, "{in_groups} {filters}");
    place.write("keys.txt", "key\n");
    place.expect(0, "build --output t.fb keys.txt");
    let message = place.expect_failure(2, "list t.fb");
    assert_eq!(commands(&message), ["filterblock inspect t.fb"]);
    assert!(place.expect_failure(4, "list none.fbs").contains("`ls -a -- .`"));
}

/// What was added is never denied, and each file answers for itself.
#[test]
fn queries_of_a_column_have_an_answer_for_each_file() {
    let place = with_set();
    let answers = |of: [&str; 3], value: &str| {
        let [a, b, c] = of;
        format!("{a}\ta.parquet\t{value}\n{b}\tb.parquet\t{value}\n{c}\tc\t.parquet\t{value}\n")
    };
    for id in (0..300).step_by(7) {
        let value = if id % 2 == 0 { id.to_string() } else { format!("{id}.00") };
        let expected = [0, 1, 2].map(|number| if id % 3 == number { "maybe" } else { "no" });
        assert_eq!(place.expect(0, &format!("query files.fbs {value} --column id")), answers(expected, &value));
    }
    assert_eq!(place.expect(1, "query files.fbs 300 --column id"), answers(["no"; 3], "300"));
    assert_eq!(place.expect(1, "query files.fbs --column id --summary -- -1").lines().count(), 3);
    // A file that gave its column up is maybe.
    assert_eq!(place.expect(0, "query files.fbs Bonn --column word"), answers(["no", "maybe", "maybe"], "Bonn"));
    // More than what is looked up at once.
    let list: String = (0..3000).map(|id| format!("{id}\n")).collect();
    let output = place.with_stdin("query files.fbs --column id --keys -", list.as_bytes());
    let found = String::from_utf8(output.stdout).unwrap();
    assert_eq!((found.lines().count(), found.matches("maybe").count()), (9000, 300));
    let output = place.with_stdin("query files.fbs --column id --keys - --summary --json", list.as_bytes());
    let expected = |name: &str| format!("{{\"file\":\"{name}\",\"queries\":3000,\"maybe\":100,\"no\":2900}}\n");
    let all = ["a.parquet", "b.parquet", "c\\t.parquet"].map(expected).concat();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), all);
    assert_eq!(
        place.expect(0, "query 0 --column id --json --in files.fbs").lines().next().unwrap(),
        "{\"set\":\"files.fbs\",\"file\":\"a.parquet\",\"value\":\"0\",\"answer\":\"maybe\"}"
    );
    let (lines, message) = ended(4, &place.run("query 300 --column id --in none.fbs files.fbs"));
    assert!(lines.starts_with("maybe\tnone.fbs\t\t300\n") && lines.contains("\nno\tfiles.fbs\ta.parquet\t300\n"));
    assert!(message.starts_with("none.fbs: cannot read"), "{message}");
}

#[test]
fn values_are_read_by_the_class_of_the_column() {
    let place = Place::new();
    let values = [
        ("opaque", ValueClass::Opaque, Value::Opaque(b"x"), "x", "y"),
        ("number", ValueClass::Number, Value::Decimal { unscaled: -350, scale: 2 }, "-3.5", "3.5"),
        ("text", ValueClass::Text, Value::Text("\u{fc}"), "\u{fc}", "u"),
        ("binary", ValueClass::Binary, Value::Binary(b"\x01"), "\x01", "1"),
        (
            "local",
            ValueClass::LocalTimestamp,
            Value::LocalTimestamp(60, TimeUnit::Second),
            "1970-01-01T00:01:00",
            "1970-01-01T00:01:01",
        ),
        (
            "instant",
            ValueClass::Instant,
            Value::Instant(1_500, TimeUnit::Millisecond),
            "1970-01-01T01:00:01.5+01:00",
            "1970-01-01T00:00:01Z",
        ),
        ("date", ValueClass::Date, Value::Date(31), "1970-02-01", "1970-02-02"),
        ("time", ValueClass::TimeOfDay, Value::TimeOfDay(90, TimeUnit::Second), "00:01:30", "00:01:31"),
    ];
    let mut of_classes = builder(&values.map(|(name, class, ..)| column(name, class)));
    let mut file = of_classes.file("a", 1).unwrap();
    values.iter().enumerate().for_each(|(column, (.., value, _, _))| assert!(file.add(column, *value)));
    file.finish().unwrap();
    place.write("t.fbs", finish(of_classes));
    for (name, .., present, absent) in values {
        for (code, value) in [(0, present), (1, absent)] {
            ended(code, &place.command(["query", "t.fbs", "--column", name, "--", value]).output().unwrap());
        }
    }
    // Bytes may be written in digits, and are still found where they are these digits themselves.
    for (value, code) in [("01", 0), ("0x01", 0), ("02", 1)] {
        place.expect(code, &format!("query t.fbs {value} --column binary"));
    }
    let mut builder = builder(&[column("id", ValueClass::Binary)]);
    for (name, bytes) in
        [("text", &b"00000000-0000-0000-0000-0000000000ff"[..]), ("bytes", &[&[0; 15][..], &[255]].concat())]
    {
        let mut file = builder.file(name, 1).unwrap();
        assert!(file.add(0, Value::Binary(bytes)));
        file.finish().unwrap();
    }
    place.write("ids.fbs", finish(builder));
    let both =
        "maybe\ttext\t00000000-0000-0000-0000-0000000000ff\nmaybe\tbytes\t00000000-0000-0000-0000-0000000000ff\n";
    assert_eq!(place.expect(0, "query ids.fbs 00000000-0000-0000-0000-0000000000ff --column id"), both);
    for (name, value, says) in [
        ("number", "seven", "is not a number, as in"),
        ("date", "1970-02-30", "is not a date, as in"),
        ("time", "24:00:01", "is not a time of day, as in"),
        ("local", "1970-01-01", "is not a timestamp, as in"),
        ("instant", "1970-01-01T00:00:00", "is not an instant, as in"),
    ] {
        let message = place.expect_failure(2, &format!("query t.fbs {value} --column {name}"));
        assert!(message.contains(says) && message.contains(&format!("\"{name}\" of t.fbs")), "{message}");
    }
    // A number of more digits than entries have is not denied.
    assert!(place.expect(0, &format!("query t.fbs {} --column number", "9".repeat(50))).starts_with("maybe\ta\t99"));
    let message = place.expect_failure(2, "query t.fbs 1 --column id");
    assert!(
        message.contains("has no column \"id\", so every file is 'maybe'. Its columns: \"opaque\", \"number\""),
        "{message}"
    );
}

#[test]
fn verify_names_the_units_that_do_not_check() {
    let place = with_set();
    let text = place.expect(0, "verify files.fbs");
    assert!(text.starts_with("files.fbs: ok: set v1, 3 files, 2 columns, 2 groups, "), "{text}");
    let report = place.json(0, "verify files.fbs --json");
    let figures = (&report["ok"], &report["num_groups"], &report["num_unusable_units"]);
    assert_eq!(figures, (&true.into(), &2.into(), &0.into()));
    let set = place.read("files.fbs");
    let groups_len = report["groups_len_bytes"].as_u64().unwrap();
    place.write("ids.txt", (0..300).map(|id| format!("{id}\n")).collect::<String>());
    let (mut num_units, mut num_index, mut num_reported) = (0, 0, 0);
    for at in (0..set.len()).step_by(11) {
        place.write("bad.fbs", flipped(&set, at));
        let is_magic = at >= set.len() - 64 && at < set.len() - 56;
        let message = place.expect_failure(3, "verify bad.fbs");
        if (at as u64) < groups_len {
            num_units += 1;
            let (what, next) = message.split_once(". It has rows of ").unwrap();
            let what = what.strip_prefix("bad.fbs: unit of ").unwrap();
            let numbers = what.split([' ', ':']).filter_map(|word| word.parse::<usize>().ok()).collect::<Vec<_>>();
            assert!((numbers[1]..numbers[0] + numbers[1]).contains(&at), "{message}");
            assert!(next.contains("there more answers are 'maybe'") && message.lines().count() == 1, "{message}");
            assert_eq!(commands(&message), ["filterblock verify bad.fbs"]);
            // No stored value is denied, and a query that meets the damage reports it.
            let output = place.run("query bad.fbs --column id --keys ids.txt");
            let answers = String::from_utf8(output.stdout.clone()).unwrap();
            let stored = answers.lines().enumerate().filter(|(line, _)| line / 3 % 3 == line % 3);
            assert!(
                stored.clone().count() == 300 && stored.map(|(_, line)| line).all(|line| line.starts_with("maybe\t"))
            );
            let reported = if stderr(&output).is_empty() { 0 } else { 3 };
            assert_eq!(output.status.code(), Some(reported), "{at}");
            num_reported += u32::from(reported > 0);
        } else if !is_magic {
            num_index += 1;
            let start = format!("bad.fbs: filter set of {} bytes, index before the footer at offset ", set.len());
            assert!(message.starts_with(&start), "{message}");
            for line in ["inspect bad.fbs", "list bad.fbs", "query bad.fbs 1 --column id"] {
                assert_eq!(place.expect_failure(3, line), message);
            }
        }
    }
    // Without its end it begins as a block does, and nothing else shows what it was.
    place.write("cut.fbs", &set[..set.len() - 1]);
    let message = place.expect_failure(3, "verify cut.fbs");
    assert!(
        message.ends_with("If it was a filter set, its end is damaged or missing: restore it from a copy.\n"),
        "{message}"
    );
    // The others are of the column that was not queried.
    assert!(num_units > num_reported && num_reported > 60 && num_index > 10, "{num_units} {num_reported} {num_index}");
}

#[test]
fn a_set_is_not_taken_for_a_block() {
    let place = with_set();
    place.write("keys.txt", "key\n");
    place.expect(0, "build --kind bloom --output t.fb keys.txt");
    for line in [
        "query files.fbs key",
        "query files.fbs --prefix a",
        "thin --columns 2 --output x.fb files.fbs",
        "combine union t.fb files.fbs --output x.fb",
    ] {
        let message = place.expect_failure(2, line);
        assert!(message.starts_with("files.fbs: a filter set, the filters of many files, where one"), "{message}");
        let named = commands(&message);
        assert_eq!(named, ["filterblock list files.fbs", "filterblock query files.fbs VALUE --column NAME"]);
        let query = named[1].replace("VALUE", "1").replace("NAME", "id");
        assert!([&named[0], &query].into_iter().all(|line| place.run(&line["filterblock ".len()..]).status.success()));
    }
    let before = place.read("files.fbs");
    assert!(place.expect_failure(2, "build --output files.fbs keys.txt").contains("is not a filter block"));
    assert!(place.expect_failure(2, "verify files.fbs --keys keys.txt").contains("leave out --keys"));
    assert!(
        place.expect_failure(2, "query t.fb key --column id").contains("t.fb is not a filter set: leave out --column")
    );
    for line in
        ["inspect files.fbs --context 7", "verify files.fbs --context 7", "query files.fbs 1 --column id --context 7"]
    {
        assert!(place.expect_failure(2, line).contains("leave out --context"), "{line}");
    }
    for flags in ["--from 1", "--prefix 1", "--ranges keys.txt", "--compact-frame"] {
        place.expect_failure(2, &format!("query files.fbs 1 --column id {flags}"));
    }
    place.expect_failure(2, "query files.fbs --column id");
    assert!(fs::read(place.path("files.fbs")).unwrap() == before);
}

#[test]
fn a_set_under_a_secret_key_is_read_with_it() {
    let place = with_set();
    place.write("key", [7; 16]);
    place.write("keyed.fbs", set_under(&KeyHasher::keyed([7; 16])));
    for line in ["inspect keyed.fbs", "list keyed.fbs", "verify keyed.fbs", "query keyed.fbs 0 --column id"] {
        let message = place.expect_failure(3, line);
        assert!(message.contains("Run the command again with `--hash-key-file KEY`"), "{message}");
        place.expect(0, &format!("{line} --hash-key-file key"));
        let message = place.expect_failure(3, &format!("{} --hash-key-file key", line.replace("keyed", "files")));
        assert!(message.contains("Leave out --hash-key-file"), "{message}");
    }
    assert!(place.json(0, "inspect keyed.fbs --json --hash-key-file key").get("hash_key_id").is_some());
}
