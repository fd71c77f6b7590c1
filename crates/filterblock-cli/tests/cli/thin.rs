//! `filterblock thin`.

use crate::{Place, commands, field_names, stderr};

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
    let names: Vec<_> = std::iter::once("output").chain(field_names(&shown)).collect();
    assert_eq!(field_names(&summary), names);
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
    assert!(place.expect_failure(2, "thin t.fb --columns 3 --output t.fb").contains("are one file"));
    place.expect(0, "build --kind golomb --output g.fb keys.txt");
    let message = place.expect_failure(2, "thin g.fb --columns 3 --output small.fb");
    assert!(message.starts_with("error: g.fb: golomb filters have no columns to leave out."), "{message}");
    place.expect_failure(3, "thin keys.txt --columns 3 --output small.fb");
    assert!(!place.path("small.fb").exists());
}
