//! `filterblock demo`: its figures support its claims, also when it cannot run or is interrupted. Times are not checked.

use crate::*;
use std::time::Duration;

fn count(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_else(|| panic!("{field} in {value}"))
}

#[test]
fn the_figures_add_up() {
    let place = Place::new();
    let output = place.run("demo --rows 4_000 --lookups 500 --json");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["answers_identical"], true);
    assert_eq!((count(&report, "answers_wrong"), count(&report, "lookups_per_class")), (0, 500));
    assert!(report["direct_io"].is_boolean());
    let runs = report["runs"].as_array().unwrap();
    let names: Vec<_> = runs.iter().map(|run| run["filter"].as_str().unwrap()).collect();
    assert_eq!(names, ["none", "bloom", "blocked", "golomb", "ribbon", "fuse"]);
    let unfiltered = count(&runs[0], "data_block_reads");
    for run in runs {
        assert_ne!(run["reads_match_os"], false);
        if cfg!(target_os = "linux") {
            assert_eq!(count(run, "os_read_bytes"), count(run, "ledger_read_bytes"));
        }
        assert_eq!(run["ledger_balanced"], true);
        assert_eq!(count(run, "reads_avoided"), unfiltered - count(run, "data_block_reads"));
        assert_eq!(run["answers_hash"], runs[0]["answers_hash"]);
        let reads: u64 = run["classes"].as_array().unwrap().iter().map(|class| count(class, "data_block_reads")).sum();
        assert_eq!(reads, count(run, "data_block_reads"));
        let of_scans = |run: &Value| count(&run["classes"][3], "data_block_reads");
        assert!(run["filter"] == "none" || 2 * of_scans(run) < of_scans(&runs[0]), "{run}");
        let with_directories = run["directory_reads"].as_u64().unwrap_or(0);
        assert!(50 * with_directories < count(&runs[0]["classes"][4], "data_block_reads"), "{run}");
        for class in run["classes"].as_array().unwrap() {
            let outcomes = class["outcomes"].as_object().unwrap();
            let sum: u64 = outcomes.values().map(|count| count.as_u64().unwrap()).sum();
            assert_eq!(sum, count(class, "lookups"));
        }
    }
    for (run, &kind) in runs[1..].iter().zip(FilterKind::ALL) {
        // A step of the rate takes 1.07 to 1.3 bits per key.
        let least = if FilterPolicy::rate_has_steps(kind) { 8.5 } else { 9.5 };
        assert!((least..10.5).contains(&run["bits_per_key"].as_f64().unwrap()), "{run}");
        assert!(run["absent_reads_avoided_share"].as_f64().unwrap() > 0.985);
        let (observed, predicted) = (run["observed_fpr"].as_f64().unwrap(), run["predicted_fpr"].as_f64().unwrap());
        let asked = count(run, "false_positives") as f64 / observed;
        let sigma = (predicted * (1.0 - predicted) / asked).sqrt();
        assert!((observed - predicted).abs() < 4.0 * sigma, "{observed} against {predicted} ± {sigma}");
    }
}

#[test]
fn users_lists_can_be_looked_up() {
    let place = Place::new();
    let list = |numbers: std::ops::Range<u32>, step| numbers.step_by(step).map(|i| format!("word{i:05}\n")).collect();
    let (keys, absent): (String, String) = (list(0..2000, 2), list(0..2200, 1));
    place.write("keys", keys);
    place.write("absent", absent);
    let report = place.json(0, "demo --keys keys --absent absent --kind blocked --lookups 200 --json");
    // Of the 2200 given as absent, 1000 are present and 201 after the last row.
    assert_eq!((count(&report, "rows"), count(&report, "absent_rows_dropped")), (1000, 1201));
    assert_eq!(report["runs"].as_array().unwrap().len(), 2);
    assert_eq!(report["answers_identical"], true);

    let table = place.expect(0, "demo --keys keys --absent absent --kind bloom,golomb --lookups 200");
    assert!(table.contains("1 201 absent rows not used"), "{table}");
    let reads = format!("data-blockreads{}", report["runs"][0]["data_block_reads"]);
    assert!(table.lines().any(|line| line.replace(' ', "").starts_with(&reads)), "{table}");
    assert!(table.contains("Answers identical in all runs:        yes"), "{table}");
    assert!(!table.contains("NO"), "{table}");
}

#[test]
fn impossible_runs_are_usage_errors() {
    let place = Place::new();
    let all = "--rows 10; --rows 1e18; --bits-per-key 1; --kind cuckoo; --keys there-is-no-such-file; \
        --rows 1000 --keys a --absent b";
    for args in all.split("; ") {
        place.expect_failure(2, &format!("demo {args}"));
    }
    place.expect_failure(4, "demo --keys no-such-file --absent no-such-file");
}

fn entries(place: &Place) -> Vec<PathBuf> {
    fs::read_dir(place.path("disk")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[cfg(unix)]
fn interrupt(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// The tool with the default actions of signals: a shell without job control has what it starts in the background, and
/// all children of that, ignore SIGINT.
#[cfg(target_os = "linux")]
fn with_default_signals(command: &Command) -> Command {
    let mut env = Command::new("env");
    env.arg("--default-signal").arg(command.get_program()).args(command.get_args());
    env.current_dir(command.get_current_dir().unwrap());
    env
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_demo_leaves_nothing_behind() {
    use std::os::unix::process::ExitStatusExt;
    for (signal, number) in [("-INT", 2), ("-TERM", 15)] {
        let place = Place::new();
        fs::create_dir(place.path("disk")).unwrap();
        let mut command = with_default_signals(&place.command(["demo", "--dir", "disk", "--rows", "1M"]));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // It is loading its first store.
        while !entries(&place).iter().any(|dir| dir.join("none/MANIFEST").exists()) {
            assert!(child.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(1));
        }
        interrupt(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.signal(), stderr(&output)), (Some(number), String::new()));
        assert!(entries(&place).is_empty());
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_build_leaves_nothing_behind() {
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;
    let place = Place::new();
    fs::create_dir(place.path("disk")).unwrap();
    let mut command = place.command(["build", "--output", "disk/x.fb"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // More than a pipe holds: the tool reads. And it goes on to read: to wait for the child would close its input, and
    // a build that is complete before the signal arrives leaves its file.
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines("key", 20_000).as_bytes()).unwrap();
    interrupt(&child, "-TERM");
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert!(entries(&place).is_empty());
    drop(input);
}

#[test]
fn a_directory_that_does_not_exist_is_not_made() {
    let place = Place::new();
    let message = place.expect_failure(4, "demo --dir no/such");
    assert!(message.starts_with("no/such: cannot hold the store: "), "{message}");
    assert!(message.contains("Name a directory that exists"), "{message}");
    assert!(!place.path("no").exists());
    place.write("file", "text");
    let message = place.expect_failure(4, "demo --dir file");
    assert!(message.starts_with("file: cannot hold the store: ") && message.contains("--dir DIR"), "{message}");
}

#[test]
fn flags_without_effect_are_refused() {
    let place = Place::new();
    place.write("keys.txt", lines("key", 300));
    for line in ["demo --absent nosuchfile", "demo --absent keys.txt --rows 1000", "demo --keys keys.txt"] {
        place.expect_failure(2, line);
    }
}

/// A limit on the length of files: the same as a full disk, but for the number.
#[cfg(target_os = "linux")]
#[test]
fn a_failure_names_path_consequence_and_next_step_once() {
    let place = Place::new();
    fs::create_dir(place.path("disk")).unwrap();
    let (_, message) = ended(4, &place.shell("ulimit -f 100; exec $FB demo --dir disk --rows 20k"));
    assert!(message.contains("/disk/filterblock-demo-") && message.contains("/none/00"), "{message}");
    assert_eq!((message.matches("(os error 27)").count(), message.lines().count()), (1, 1), "{message}");
    for part in [": cannot ", "The demo has stopped and removed its files", "`filterblock demo --dir DIR`"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(entries(&place).is_empty());
}
