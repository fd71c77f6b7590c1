//! `filterblock thin`.

use crate::*;

/// Of 14 columns, for a thousand keys.
fn with_columns() -> Place {
    let place = Place::with_block("ribbon");
    place.expect(0, "build --kind ribbon --fpr 0.00006103515625 --output t.fb keys.txt");
    assert_eq!(place.json(0, "inspect t.fb --json")["num_columns"], 14);
    place
}

#[test]
fn a_thinned_block_holds_the_same_keys_in_fewer_bytes() {
    let place = with_columns();
    let summary = place.expect(0, "thin t.fb --columns 6 --output small.fb");
    assert!(summary.starts_with("small.fb: ribbon, 6 of 14 columns, 1000 distinct entries, "), "{summary}");
    assert!(place.read("small.fb").len() < place.read("t.fb").len() / 2);
    let figures = place.json(0, "inspect small.fb --json");
    assert_eq!((&figures["num_columns"], &figures["thinned_from"]), (&6.into(), &14.into()));
    assert_eq!((&figures["num_entries"], figures["predicted_fpr"].as_f64()), (&1000.into(), Some(1.0 / 64.0)));
    let text = place.expect(0, "inspect small.fb");
    assert!(text.contains("\nthinned_from         14 columns\n"), "{text}");
    assert!(!place.expect(0, "inspect t.fb").contains("thinned"));
    place.expect(0, "verify small.fb --keys keys.txt");
    // Again, and to standard output.
    let output = place.run("thin small.fb --columns 1 --output -");
    assert!(stderr(&output).starts_with("-: ribbon, 1 of 14 columns, "), "{}", stderr(&output));
    place.write("least.fb", output.stdout);
    place.expect(0, "verify least.fb --keys keys.txt");
}

#[test]
fn json_has_these_keys() {
    let place = with_columns();
    let summary = place.json(0, "thin t.fb --columns 6 --output small.fb --json");
    let shown = place.json(0, "inspect small.fb --json");
    assert_eq!(field_names(&summary), format!("output {}", field_names(&shown)));
    assert_eq!(summary["block_len_bytes"], place.read("small.fb").len());
}

/// A thinned block keeps its secret key and its context.
#[test]
fn keys_and_contexts_are_kept() {
    let place = with_columns();
    place.write("secret", "0123456789abcdef");
    place.expect(0, "build --kind ribbon --hash-key-file secret --context 9 --output k.fb keys.txt");
    let expected = "--hash-key-file secret --context 9";
    place.expect(0, &format!("thin k.fb --columns 2 --output small.fb {expected}"));
    place.expect(0, &format!("verify small.fb --keys keys.txt {expected}"));
    place.expect_failure(3, "thin k.fb --columns 2 --output other.fb --hash-key-file secret");
    assert!(!place.path("other.fb").exists());
}

#[test]
fn what_cannot_be_thinned_is_left_alone() {
    let place = with_columns();
    for columns in [0, 14, 15] {
        let message = place.expect_failure(2, &format!("thin t.fb --columns {columns} --output small.fb"));
        let expected = format!("error: t.fb: columns = {columns} is outside the legal range 1 to 13.");
        assert!(message.starts_with(&expected) && message.contains("small.fb was not written"), "{message}");
        let [command] = &commands(&message)[..] else { panic!("{message}") };
        place.expect(0, command.strip_prefix("filterblock ").unwrap());
    }
    assert!(place.expect_failure(2, "thin t.fb --columns 3 --output t.fb").contains("would be replaced by the output"));
    place.expect(0, "build --kind golomb --output g.fb keys.txt");
    let message = place.expect_failure(2, "thin g.fb --columns 3 --output small.fb");
    assert!(message.starts_with("error: g.fb: golomb filters have no columns to leave out."), "{message}");
    place.expect_failure(3, "thin keys.txt --columns 3 --output small.fb");
    assert!(!place.path("small.fb").exists());
}

#[test]
fn bloom_blocks_are_combined() {
    let place = Place::with_block("bloom");
    for (name, numbers) in [("a", 0..600), ("b", 400..1000), ("c", 500..1100)] {
        place.write(name, numbers.map(|number| format!("key-{number}\n")).collect::<String>());
        place.expect(0, &format!("build --kind bloom --max-bytes 2KiB --seed 5 --context 3 --output {name}.fb {name}"));
    }
    let union = place.json(0, "combine union a.fb b.fb c.fb --context 3 --output u.fb --json");
    assert!((1000..1200).contains(&union["num_entries"].as_u64().unwrap()), "{union}");
    place.expect(0, "verify u.fb --context 3 --keys keys.txt");
    place.expect(0, "combine intersection a.fb b.fb c.fb --context 3 --output i.fb");
    let maybe =
        |keys: &str| place.json(0, &format!("query i.fb --context 3 --keys {keys} --summary --json"))["maybe"].clone();
    place.write("all", (500..600).map(|number| format!("key-{number}\n")).collect::<String>());
    assert!(maybe("all") == 100 && maybe("absent.txt").as_u64().unwrap() < 50);
    let message = place.expect_failure(3, "combine union a.fb t.fb --context 3 --output x.fb");
    assert!(message.starts_with("t.fb: "), "{message}");
    place.expect(0, "build --kind bloom --max-bytes 2KiB --seed 6 --context 3 --output d.fb a");
    let message = place.expect_failure(2, "combine union a.fb d.fb --context 3 --output x.fb");
    assert!(message.contains("d.fb: hash seed expected") && message.contains("Nothing was written"), "{message}");
    assert_eq!(place.follow(&commands(&message)[0]).status.code(), Some(0));
    assert!(!place.path("x.fb").exists());
}

/// Parts of unequal numbers of keys, under one policy of a fixed shape; under a byte cap the refusal names that policy.
#[test]
fn parts_of_unequal_size_are_united() {
    let place = Place::new();
    let (all, few, many) = (lines("key-", 3_000), lines("key-", 50), lines("key-", 3_000));
    let many = many.lines().skip(50).map(|key| format!("{key}\n")).collect::<String>();
    for (name, keys) in [("all", &all), ("few", &few), ("many", &many)] {
        place.write(name, keys);
    }
    for name in ["few", "many"] {
        place.expect(0, &format!("build --kind bloom --max-bytes 4KiB --seed 7 --output {name}.fb {name}"));
    }
    let message = place.expect_failure(2, "combine union few.fb many.fb --output x.fb");
    assert!(
        message.contains("build all parts under one policy of a fixed shape, bloom:bytes=4096,probes=7"),
        "{message}"
    );
    assert!(!place.path("x.fb").exists());
    for name in ["few", "many"] {
        let policy = "bloom:bytes=4096,probes=7,seed=7";
        place.expect(0, &format!("build --policy {policy} --output {name}.fb --force {name}"));
        assert_eq!(place.read(&format!("{name}.fb")).len(), 4096);
    }
    place.expect(0, "combine union few.fb many.fb --output all.fb");
    place.expect(0, "verify all.fb --keys all");
    let message = place.expect_failure(2, "build --policy golomb:bytes=4096,probes=7 --output y.fb all");
    assert!(message.contains("golomb: no blocks of a fixed number of bytes and probes"), "{message}");
}
