//! `filterblock verify`.

use crate::*;

/// With keys, the observed rate matches the prediction.
#[test]
fn intact_blocks_pass() {
    for kind in KINDS {
        let place = Place::with_block(kind);
        let text = place.expect(0, "verify t.fb");
        assert!(text.starts_with(&format!("t.fb: ok: {kind} v1, 1000 entries, ")), "{text}");
        let report = place.json(0, "verify t.fb --json");
        assert_eq!((&report["ok"], &report["num_entries"]), (&true.into(), &1000.into()));

        let report = place.json(0, "verify t.fb --keys keys.txt --json");
        assert_eq!((&report["keys_asked"], &report["keys_missing"]), (&1000.into(), &0.into()));
        assert!(report["absent_asked"].as_u64().unwrap() >= 900_000, "{report}");
        let (observed, predicted) =
            (report["observed_fpr"].as_f64().unwrap(), report["predicted_fpr"].as_f64().unwrap());
        let count = report["absent_asked"].as_f64().unwrap();
        let sigma = (predicted * (1.0 - predicted) / count).sqrt();
        assert!((observed - predicted).abs() < 4.0 * sigma, "{kind}: {report}");
        assert!((report["deviation_sigma"].as_f64().unwrap() - (observed - predicted) / sigma).abs() < 1e-6);
        let text = place.expect(0, "verify t.fb --keys keys.txt");
        assert!(text.contains("none missing") && text.contains("observed rate"), "{text}");
    }
}

#[test]
fn derived_keys_that_are_members_do_not_count_as_false_positives() {
    let place = Place::new();
    // The second key is the first with the suffix that absent keys are derived by; so is every further one.
    let mut keys = b"key\0".to_vec();
    for number in 0..200u8 {
        keys.extend_from_slice(b"key\0absent\0");
        // Keys end with a newline here, which the number must not contain.
        keys.push(if number == b'\n' { 255 } else { number });
        keys.push(b'\n');
    }
    keys.drain(..4);
    keys.extend_from_slice(b"key\n");
    place.write("keys.bin", &keys);
    place.expect(0, "build --kind golomb --fpr 1e-9 --output t.fb keys.bin");
    let report = place.json(0, "verify t.fb --keys keys.bin --json");
    assert_eq!((&report["keys_missing"], &report["false_positives"]), (&0.into(), &0.into()), "{report}");
    assert_eq!(report["absent_asked"], 201 * 1000 - 200, "{report}");
}

#[test]
fn missing_keys_are_named() {
    let place = Place::with_block("golomb");
    let report = place.json(3, "verify t.fb --keys absent.txt --json");
    assert_eq!(report["ok"], false);
    assert!(report["keys_missing"].as_u64().unwrap() > 950);
    let message = place.expect_failure(3, "verify t.fb --keys absent.txt");
    for part in ["t.fb: filter block at offset 0 (", "golomb v1", "of 1000 keys", "\"absent-", "filterblock build"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn an_incomplete_list_of_keys_passes_with_a_note() {
    let place = Place::with_block("blocked");
    place.write("some.txt", lines("key", 10) + "key-3\n");
    let text = place.expect(0, "verify t.fb --keys some.txt");
    assert!(text.contains("11 queried (10 distinct)") && text.contains("not all of its keys"), "{text}");
}

#[test]
fn a_bad_file_does_not_stop_the_others_and_the_worst_code_wins() {
    let place = Place::with_block("bloom");
    place.write("bad.fb", &place.read("t.fb")[..100]);
    let (printed, message) = ended(3, &place.run("verify bad.fb t.fb"));
    assert!(message.starts_with("bad.fb: ") && printed.starts_with("t.fb: ok"));
    let reports = place.expect(4, "verify missing.fb bad.fb t.fb --json");
    let reports: Vec<Value> = reports.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let column = |name: &str| reports.iter().map(|report| report[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("file"), ["missing.fb", "bad.fb", "t.fb"]);
    assert_eq!(column("ok"), [false, false, true]);
    assert_eq!(column("exit_code"), [4.into(), 3.into(), Value::Null]);
}

#[test]
fn standard_input_holds_keys_for_one_block_only() {
    let place = Place::with_block("blocked");
    ended(0, &place.with_stdin("verify t.fb --keys -", lines("key", 1000).as_bytes()));
    place.expect_failure(2, "verify t.fb t.fb --keys -");
    place.expect_failure(2, "verify t.fb --null");
    place.expect_failure(2, "verify");
    assert!(place.expect_failure(4, "verify t.fb --keys missing.txt").starts_with("missing.txt: "));
    ended(0, &place.with_stdin("verify t.fb --null --keys -", b"key-1\0key-2\0"));
}
