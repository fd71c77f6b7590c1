//! Files that an output would replace.

use crate::*;

/// Twenty kinds of files, none of which is a writable, whole filter block.
#[cfg(unix)]
fn with_files() -> (Place, Vec<String>) {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::with_block("bloom");
    place.expect(0, "fill db --rows-only keys.txt --kind bloom");
    place.expect(0, "rebuild db");
    let block = place.read("t.fb");
    place.expect(0, "build --compact-frame --seed 1 --transform whole-key --output frame.cf keys.txt");
    place.write("text.txt", "precious\n");
    place.write("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    place.write("archive.gz", b"\x1f\x8b\x08\0\0\0\0\0");
    place.write("empty", "");
    place.write("long.fb", [&block[..], b"+"].concat());
    place.write("short.fb", &block[..block.len() - 1]);
    place.write("header.fb", &block[..64]);
    place.write("payload.fb", flipped(&block, 100));
    place.write("checksum.fb", flipped(&block, 20));
    place.write("newer.fb", flipped(&block, 5));
    place.write("read-only.fb", &block);
    fs::set_permissions(place.path("read-only.fb"), fs::Permissions::from_mode(0o444)).unwrap();
    symlink("text.txt", place.path("link")).unwrap();
    fs::create_dir(place.path("directory")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(place.path("fifo")).status().unwrap().success());
    let store = ["MANIFEST", "LOCK"].map(|name| format!("db/{name}")).into_iter();
    let ends = [".sst", ".flt", ".wal"].map(|end| {
        let mut names = fs::read_dir(place.path("db")).unwrap().map(|entry| entry.unwrap().file_name());
        format!("db/{}", names.find_map(|name| name.into_string().ok().filter(|name| name.ends_with(end))).unwrap())
    });
    let others = "frame.cf text.txt picture.png archive.gz empty long.fb short.fb header.fb payload.fb checksum.fb newer.fb \
                  read-only.fb link directory fifo";
    let files: Vec<String> = store.chain(ends).chain(others.split(' ').map(str::to_owned)).collect();
    assert_eq!(files.len(), 20);
    (place, files)
}

#[cfg(unix)]
#[test]
fn what_is_not_a_filter_block_is_not_replaced() {
    use std::os::unix::fs::MetadataExt;
    let (place, files) = with_files();
    place.write("other.txt", lines("other", 1000));
    place.expect(0, "build --kind bloom --seed 0 --output other.fb other.txt");
    place.expect(0, "build --kind ribbon --seed 0 --output ribbon.fb keys.txt");
    let state = |file: &String| {
        let metadata = fs::metadata(place.path(file)).unwrap();
        (metadata.ino(), if metadata.is_file() { place.read(file) } else { Vec::new() })
    };
    let mut num_refused = 0;
    for command in ["build keys.txt", "thin --columns 2 ribbon.fb", "combine union t.fb other.fb"] {
        for file in &files {
            let before = state(file);
            let output = place.run(&format!("{command} --output {file}"));
            let message = stderr(&output);
            assert!(matches!(output.status.code(), Some(2 | 4)), "{command} {file}: {message}");
            assert!(state(file) == before && message.starts_with(&format!("{file}: ")), "{command} {file}: {message}");
            num_refused += 1;
        }
    }
    println!("counted: {num_refused} outputs over existing files, none replaced");
    let debris = fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(debris.filter(|name| name.starts_with(".filterblock")).count(), 0);
    // Inputs, and keys, are not replaced either, and --force is for all other files.
    for line in [
        "thin --columns 2 ribbon.fb --output ribbon.fb",
        "thin --columns 2 ribbon.fb --hash-key-file text.txt --output text.txt --force",
        "combine union t.fb other.fb --output other.fb --force",
        "combine union t.fb other.fb --hash-key-file text.txt --output text.txt --force",
    ] {
        assert!(place.expect_failure(2, line).contains("would be replaced by the output"), "{line}");
    }
    for file in ["text.txt", "read-only.fb"] {
        place.expect(0, &format!("build --output {file} --force keys.txt"));
        place.expect(0, &format!("verify {file} --keys keys.txt"));
    }
}

#[test]
fn blocks_of_any_hash_and_context_are_replaced() {
    let place = Place::with_block("golomb");
    place.write("key", [7; 16]);
    for options in
        ["--seed 5", "--context 9", "--hash-key-file key", "--hash-key-file key --context 9", "--kind fuse", "--null"]
    {
        place.expect(0, &format!("build {options} --output t.fb keys.txt"));
    }
    place.expect(0, "verify t.fb --null --keys keys.txt");
}

/// A signal ends a process that writes beyond the limit, unless the process catches it.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_the_length_of_files_is_an_error() {
    let place = Place::with_block("bloom");
    fs::create_dir(place.path("out")).unwrap();
    place.write("out/old.fb", place.read("t.fb"));
    for name in ["out/new.fb", "out/old.fb"] {
        let (_, message) =
            ended(4, &place.shell(&format!("ulimit -f 2; exec $FB build --max-bytes 64KiB --output {name} keys.txt")));
        assert!(message.starts_with(&format!("{name}: cannot write: File too large (os error 27)")), "{message}");
    }
    assert_eq!(fs::read_dir(place.path("out")).unwrap().count(), 1);
    assert!(place.read("out/old.fb") == place.read("t.fb"));
}

#[test]
fn a_seed_is_drawn_and_shown_unless_it_is_given() {
    let place = Place::with_block("blocked");
    for options in ["", " --policy blocked:12"] {
        let seed = || place.json(0, &format!("build{options} --output a.fb --json keys.txt"))["seed"].clone();
        assert_ne!(seed(), seed());
    }
    let text = place.expect(0, "build --output a.fb keys.txt");
    let seed = text.trim_end().rsplit(' ').next().unwrap();
    assert_eq!(u64::from_str_radix(&seed[2..], 16).unwrap(), {
        let shown = place.json(0, "inspect a.fb --json")["seed"].as_str().unwrap().to_owned();
        u64::from_str_radix(&shown[2..], 16).unwrap()
    });
    for given in ["--seed 0", "--policy blocked:10,seed=0"] {
        place.expect(0, &format!("build {given} --output a.fb keys.txt"));
        assert!(place.read("a.fb") == place.read("t.fb"), "{given}");
    }
}
