//! Range filters, through every subcommand that reads or refuses them.

use crate::*;
use filterblock::OpenOptions;
use filterblock::range::RangeFilterBuilder;
use std::ops::Bound::{Excluded, Included, Unbounded};

fn key(number: u32) -> String {
    format!("user/{number:06}")
}

/// `keys.txt` with a thousand keys, ten numbers apart, `r.fb` with their range filter, and `k.fb` with one of keys.
fn with_ranges() -> Place {
    let place = Place::new();
    place.write("keys.txt", (0..1000).map(|i| key(i * 10) + "\n").collect::<String>());
    place.expect(0, "build --kind range --bits-per-key 14 --output r.fb keys.txt");
    place.expect(0, "build --kind bloom --seed 0 --output k.fb keys.txt");
    place
}

#[test]
fn the_bytes_are_the_library_s() {
    let place = with_ranges();
    let mut builder = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(14.0).unwrap());
    (0..1000).for_each(|i| builder.add_key(key(i * 10).as_bytes()));
    assert_eq!(place.read("r.fb"), builder.finish().unwrap());
    place.write("other.txt", (0..2000).map(|i| key(9990 - i % 1000 * 10) + "\n").collect::<String>());
    for line in ["build --policy range:14 --output o.fb keys.txt", "build --kind range --output o.fb other.txt"] {
        place.expect(0, line);
        assert_eq!(place.read("o.fb"), place.read("r.fb"), "{line}");
    }
    let summary = place.json(0, "build --policy range:14,self_check=off --json --output o.fb other.txt");
    assert_eq!(field_names(&summary), format!("output keys_read {}", field_names(&shown(&place))));
    assert_eq!((&summary["keys_read"], &summary["num_entries"]), (&2000.into(), &1000.into()));
    let output = place.run("build --kind range --output - keys.txt");
    assert_eq!(output.stdout, place.read("r.fb"));
    assert!(stderr(&output).starts_with("-: range of form cut, 1000 distinct entries in "), "{}", stderr(&output));
}

fn shown(place: &Place) -> serde_json::Value {
    place.json(0, "inspect r.fb --json")
}

#[test]
fn options_of_other_kinds_are_refused() {
    let place = with_ranges();
    place.write("key", [7; 16]);
    for option in
        ["--fpr 1%", "--max-bytes 1M", "--seed 1", "--hash-key-file key", "--transform row", "--compact-frame"]
    {
        let message = place.expect_failure(2, &format!("build --kind range {option} --output x.fb keys.txt"));
        let name = option.split(' ').next().unwrap();
        assert!(message.starts_with(&format!("error: {name} is not for range filters")), "{message}");
    }
    place.expect_failure(2, "build --policy range:14 --compact-frame --output x.fb keys.txt");
    assert!(place.expect_failure(2, "build --policy range:1 --output x.fb keys.txt").contains("2 to 200"));
    assert!(place.expect_failure(2, "build --policy range --output x.fb keys.txt").contains("such as range:14"));
    assert!(place.expect_failure(2, "build --kind range --output x.fb").contains("--allow-empty"));
    assert!(!place.path("x.fb").exists());
    place.run("build --kind range --allow-empty --output none.fb");
    place.expect(1, "query none.fb --prefix=");
    assert_eq!(place.json(0, "inspect none.fb --json")["num_entries"], 0);
}

/// The library's answers, of which *no* is right for all keys of the table.
#[test]
fn ranges_prefixes_and_keys_are_queried() {
    let place = with_ranges();
    let filter = OpenOptions::new().open_ranges(place.read("r.fb")).unwrap();
    let (mut list, mut expected, mut num_denied) = (String::new(), String::new(), 0);
    for number in (0..9900).step_by(7) {
        let (from, to, end) = (key(number), key(number + 4), key(number + 3));
        let maybe = filter.may_contain_range(Included(from.as_bytes()), Excluded(to.as_bytes()));
        assert!(maybe || number.div_ceil(10) * 10 >= number + 4);
        num_denied += u32::from(!maybe);
        let (code, answer) = if maybe { (0, "maybe") } else { (1, "no") };
        list += &format!("{from}\t{to}\n{end}\n");
        expected += &format!("{answer}\t{from}\t{to}\n");
        let has_end = filter.may_contain_prefix(end.as_bytes());
        expected += &format!("{}\t{end}\n", if has_end { "maybe" } else { "no" });
        if number % 700 < 14 {
            let answered = place.expect(code, &format!("query r.fb --from {from} --to {to}"));
            assert_eq!(answered, format!("{answer}\t{from}\t{to}\n"));
        }
    }
    assert!(num_denied > 100, "{num_denied}");
    assert_eq!(String::from_utf8(place.with_stdin("query r.fb --ranges -", list.as_bytes()).stdout).unwrap(), expected);
    // What only one of the ends decides.
    assert!(filter.may_contain_range(Unbounded, Included(b"user/000000")));
    for (code, flags) in [
        (0, "--to-including user/000000"),
        (1, "--to user"),
        (0, "--from user/009990"),
        (1, "--from user0"),
        (0, "--prefix user/00123"),
        (1, "--prefix visitor"),
        (0, "user/000010"),
        (0, "--to="),
    ] {
        place.expect(code, &format!("query r.fb {flags}"));
    }
    assert_eq!(place.expect(0, "query r.fb visitor --from w"), "no\tvisitor\nno\tw\t\n");
    let records = place.expect(0, "query --in r.fb --json --from a --to-including b -- w");
    let expected = "{\"file\":\"r.fb\",\"key\":\"w\",\"answer\":\"no\"}\n\
         {\"file\":\"r.fb\",\"from\":\"a\",\"to_including\":\"b\",\"answer\":\"no\"}\n";
    assert_eq!(records, expected);
    // Without a bound each side, with further tabs, and a prefix.
    let output = place.with_stdin("query r.fb --null --ranges - --json", b"\tuser\0user0\t\0user/\tz\tb\0user/\0");
    let expected = "{\"to\":\"user\",\"answer\":\"no\"}\n{\"from\":\"user0\",\"answer\":\"no\"}\n\
         {\"from\":\"user/\",\"to\":\"z\\tb\",\"answer\":\"maybe\"}\n{\"prefix\":\"user/\",\"answer\":\"maybe\"}\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    let counts = place.expect(0, "query --keys keys.txt --summary --in r.fb k.fb");
    assert_eq!(counts, "r.fb: 1000 queries: 1000 maybe, 0 no\nk.fb: 1000 queries: 1000 maybe, 0 no\n");
    for line in ["query r.fb", "query --in r.fb", "query r.fb --null k", "query r.fb --keys keys.txt --ranges keys.txt"]
    {
        place.expect_failure(2, line);
    }
}

/// A reversed range holds no key, but whoever gives one has most likely confused its bounds.
#[cfg(unix)]
#[test]
fn bounds_in_reverse_order_are_maybe_and_reported() {
    let place = Place::new();
    place.write("keys.txt", "9\n10\nit's\n");
    place.expect(0, "build --kind range --bits-per-key 40 --output r.fb keys.txt");
    place.expect(0, "build --kind range --context 7 --output c.fb keys.txt");
    for flags in [
        "r.fb --from 9 --to 10",
        "r.fb --from 9 --to-including 10",
        "--in r.fb --from 9 --to 10",
        "c.fb --context 7 --from 9 --to 10",
    ] {
        let (answer, message) = ended(0, &place.run(&format!("query {flags}")));
        assert!(answer.starts_with("maybe\t"), "{flags}");
        assert!(
            message.starts_with("--from \"9\" is not before the end of the range, \"10\". No key is between"),
            "{message}"
        );
        assert!(message.contains("the answer is 'maybe'") && message.lines().count() == 1, "{message}");
        let [command] = &commands(&message)[..] else { panic!("{message}") };
        assert!(command.contains("--from=10 --to-including=9"), "{command}");
        let (answer, message) = ended(0, &place.follow(command));
        assert!(answer.ends_with("10\t9\n") && message.is_empty(), "{command}: {message}");
    }
    // The bounds are quoted as a shell takes them.
    let message = stderr(&place.command(["query", "r.fb", "--from", "it's", "--to=-x y"]).output().unwrap());
    let [command] = &commands(&message)[..] else { panic!("{message}") };
    assert_eq!(place.follow(command).stdout, b"maybe\t-x y\tit's\n");
    // Of equal bounds the second must be included.
    assert!(stderr(&place.run("query r.fb --from 9 --to 9")).contains("r.fb --from=9 --to-including=9`"));
    assert_eq!(stderr(&place.run("query r.fb --from 9 --to-including 9")), "");
    let output = place.with_stdin("query r.fb --ranges -", b"a\tb\n9\t10\n9\t\n\t9\n9\n9\t1\n");
    assert_eq!(output.stdout, b"no\ta\tb\nmaybe\t9\t10\nmaybe\t9\t\nmaybe\t\t9\nmaybe\t9\nmaybe\t9\t1\n");
    let says = "standard input: ranges that do not begin before their end: 2 of 6 lines, the first at line 2. ";
    assert!(stderr(&output).starts_with(says) && stderr(&output).lines().count() == 1, "{}", stderr(&output));
}

/// The rate of a policy holds for integers alone, and a filter of others says that it has none.
#[test]
fn a_rate_that_is_lost_is_reported() {
    let place = Place::new();
    place.write("text.txt", (1..=10_000).map(|i| format!("{i}\n")).collect::<String>());
    place.write("padded.txt", (1..=10_000).map(|i| format!("{i:05}\n")).collect::<String>());
    // All of one length, but of more bytes than an integer has.
    place.write("wide.txt", ('A'..='Z').map(|first| format!("{first}{:19}\n", "")).collect::<String>());
    let build = |policy: &str, list: &str| place.run(&format!("build --policy {policy} --output r.fb {list}"));
    let policy = "range:fpr=1%,len=1024";
    for (list, says) in [("text.txt", "these have 1 to 5 bytes."), ("wide.txt", "they have too many bytes after")] {
        let (stdout, message) = ended(0, &build(policy, list));
        let start =
            "r.fb: a filter of form cut, without the policy's rate of 1.00 % for empty ranges of 1024: far more";
        assert!(message.starts_with(start) && message.contains(says), "{message}");
        assert!(stdout.starts_with("r.fb: range of form cut, "));
        let shown = place.json(0, "inspect r.fb --json");
        assert_eq!((&shown["form"], shown.get("rates")), (&"cut".into(), None));
        // The policy that the message names refuses such keys, with the reason.
        let insisting = message.split("build with --policy ").nth(1).unwrap().trim_end().trim_end_matches('.');
        let before = place.read("r.fb");
        let output = build(insisting, list);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{}", stderr(&output));
        assert!(stderr(&output).contains("no range filter of integers can be made") && place.read("r.fb") == before);
    }
    // Dense ones are exact where another form is allowed.
    for (policy, form) in [(policy, "cut"), ("range:fpr=1%,len=1024,form=integers", "integers")] {
        let output = build(policy, "padded.txt");
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()), "{policy}");
        let filter = OpenOptions::new().open_ranges(place.read("r.fb")).unwrap();
        let shown = place.json(0, "inspect r.fb --json");
        assert_eq!((&shown["form"], shown["rates"][0]["fpr"] == 0.0), (&form.into(), form == "cut"));
        let rates = shown["rates"].as_array().unwrap();
        assert!(rates.len() > 2, "{shown}");
        for rate in rates {
            assert_eq!(rate["fpr"].as_f64(), filter.false_positive_rate(rate["len"].as_u64().unwrap()), "{rate}");
        }
        assert!(place.expect(0, "inspect r.fb").contains("\nrates                1: "));
    }
    // A size promises no rate.
    assert_eq!(stderr(&build("range:14", "text.txt")), "");
}

#[test]
fn inspect_shows_its_parameters() {
    let place = with_ranges();
    let shown = shown(&place);
    let expected = "kind version num_entries form num_leaves bits_per_key block_len_bytes rates context group_units \
        is_gaps mark_bytes num_classes num_columns least width num_groups common_prefix";
    assert_eq!(field_names(&shown), expected);
    assert_eq!((&shown["kind"], &shown["num_entries"], &shown["version"]), (&"range".into(), &1000.into(), &1.into()));
    assert_eq!(shown["common_prefix"], "user/00");
    assert_eq!(shown["block_len_bytes"], place.read("r.fb").len());
    assert!(shown["is_gaps"].is_boolean() && shown["num_leaves"].as_u64().unwrap() <= 1000, "{shown}");
    // Section 16 of the format: the parameters follow 40 bytes of the header.
    let header = place.read("r.fb");
    for (name, at) in [("group_units", 40), ("mark_bytes", 42), ("num_groups", 48)] {
        assert_eq!(shown[name], header[at], "{name}");
    }
    let text = place.expect(0, "inspect r.fb");
    let names: Vec<_> = text.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(names.join(" "), expected);
    place.write("control.txt", "\x1b[1m\ta\n\x1b[1m\tb\n");
    place.expect(0, "build --kind range --output c.fb control.txt");
    assert!(place.expect(0, "inspect c.fb").contains("common_prefix        \\u{1b}[1m\\t\n"));
}

#[test]
fn verify_finds_missing_keys_and_damage() {
    let place = with_ranges();
    let text = place.expect(0, "verify r.fb --keys keys.txt");
    assert!(
        text.starts_with("r.fb: ok: range v1, 1000 entries, ") && text.contains("1000 queried, none missing"),
        "{text}"
    );
    place.write("absent.txt", "user/000010\nvisitor\nuser/000020\n");
    assert!(place.expect(0, "verify r.fb").lines().count() == 1);
    let message = place.expect_failure(3, "verify r.fb --keys absent.txt");
    assert!(
        message.contains("range v1): 1 of 3 keys are answered 'no', the first \"visitor\". Do not use it"),
        "{message}"
    );
    place.write("some.txt", "user/000010\n");
    assert!(place.expect(0, "verify r.fb --keys some.txt").contains("the list is not all of its keys"));
    let report = place.json(0, "verify r.fb --keys keys.txt --json");
    assert_eq!((&report["keys_asked"], &report["keys_missing"]), (&1000.into(), &0.into()));
    let block = place.read("r.fb");
    for at in [0, 8, 9, 24, 32, 40, 52, 60, 64, block.len() / 2, block.len() - 1] {
        place.write("bad.fb", flipped(&block, at));
        let message = place.expect_failure(3, "verify bad.fb");
        assert_eq!(place.expect_failure(3, "query bad.fb --from a"), message);
        assert_eq!(place.expect_failure(3, "inspect bad.fb"), message);
        // Only a whole filter is replaced.
        place.expect_failure(2, "build --output bad.fb keys.txt");
    }
    for len in [0, 63, 64, block.len() - 1] {
        place.write("bad.fb", &block[..len]);
        assert!(place.expect_failure(3, "verify bad.fb").contains(&format!("({len} bytes")));
    }
    place.expect(0, "build --kind range --context 42 --output r.fb keys.txt");
    let message = place.expect_failure(3, "query r.fb --prefix user");
    let [command] = &commands(&message)[..] else { panic!("{message}") };
    assert_eq!(command, "filterblock inspect --context 0x2a r.fb");
    assert!(place.expect(0, "inspect --context 0x2a r.fb").contains("0x000000000000002a"));
    place.expect(0, "verify --context 42 r.fb --keys keys.txt");
    place.expect(0, "build --output r.fb keys.txt");
}

#[test]
fn what_does_not_suit_a_filter_is_refused_with_the_remedy() {
    let place = with_ranges();
    for line in [
        "thin --columns 2 --output x.fb r.fb",
        "combine union k.fb r.fb --output x.fb",
        "combine intersection r.fb k.fb --output x.fb",
    ] {
        let message = place.expect_failure(3, line);
        assert!(
            message.contains("range v1): a range filter (kind 6) where a filter of keys is expected. It answers"),
            "{message}"
        );
        assert_eq!(commands(&message), ["filterblock inspect r.fb"]);
    }
    for flags in ["--from a", "--to b", "--to-including b", "--prefix a", "--ranges keys.txt"] {
        let message = place.expect_failure(2, &format!("query k.fb {flags}"));
        assert!(message.starts_with("error: k.fb: a bloom filter, which answers for single keys only"), "{message}");
        // Among others it is *maybe*.
        let output = place.run(&format!("query --in k.fb r.fb {flags}"));
        assert_eq!((output.status.code(), stderr(&output)), (Some(2), message), "{flags}");
        assert!(output.stdout.starts_with(b"maybe\tk.fb\t"), "{flags}");
    }
    let frame = "--compact-frame --seed 0 --transform whole-key";
    assert!(place.expect_failure(2, &format!("query r.fb {frame} key")).contains("Leave out --compact-frame"));
    place.expect(0, &format!("build {frame} --output f.fb keys.txt"));
    assert!(place.expect_failure(2, &format!("query f.fb {frame} --prefix a")).contains("for single keys only"));
    assert!(!place.path("x.fb").exists());
}
