//! What released versions wrote, this one reads: every directory of tests/golden, by the lists in it alone. `v1` has
//! what this version writes.
//!
//! `FILTERBLOCK_RELEASE=0.1.0 cargo test --test format releases` adds the directory of a release, with what no earlier
//! release has. Call it by `.ci/release`, which also lists the files' checksums.

use crate::integer_oracle::{self, Integers};
use crate::range_oracle::Ranges;
use crate::*;
use crate::{golden, material, partitioned, ranges};

/// What a directory has, and the answers that were compared.
#[derive(Debug, Default)]
struct Read {
    frames: usize,
    partitioned: usize,
    ranges: usize,
    answers: usize,
}

fn list(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("a list in JSON")
}

fn text<'a>(listed: &'a Value, field: &str) -> &'a str {
    listed[field].as_str().unwrap_or_else(|| panic!("{field} of {listed}"))
}

fn number(listed: &Value, field: &str) -> u64 {
    u64::from_str_radix(text(listed, field).trim_start_matches("0x"), 16).expect("a number")
}

/// Of the secret key, or of a seed; the latter is not listed with a partitioned filter, whose index has it.
fn hasher(listed: &Value) -> Option<KeyHasher> {
    match &listed["hash_key"] {
        Value::String(key) => Some(KeyHasher::keyed(unhex(key).try_into().expect("16 bytes"))),
        _ if listed["seed"].is_string() => Some(KeyHasher::new(number(listed, "seed"))),
        _ => None,
    }
}

fn transform(listed: &Value) -> KeyTransform {
    let field = |name: &str| listed[name].as_u64().expect("a number");
    material::transform(field("transform_id"), field("transform_param"))
}

/// Returns the number of answers. `entries` has the file of the frame's entries.
pub fn read_frame(dir: &Path, entries: &Path, listed: &Value) -> usize {
    let (name, hasher, transform) = (text(listed, "file"), hasher(listed).expect("a hasher"), transform(listed));
    let frame = fs::read(dir.join(name)).expect("a frame");
    let keys = golden::keys_in(entries, text(listed, "entries"));
    let entries = EntryHasher::new(hasher, transform);
    if text(listed, "frame") == "compact" {
        let reader = CompactFrameReader::open(&frame, &entries).expect(name);
        return golden::check(name, &reader, &Oracle::open_compact(&frame), &keys);
    }
    let options = OpenOptions::new().with_context(number(listed, "context"));
    let reader = options.expect(&entries).open(&frame).expect(name);
    assert_eq!(reader.kind().name(), text(listed, "kind"), "{name}");
    golden::check(name, &reader, &Oracle::open(&frame), &keys)
}

/// Each stored entry, at its order key.
fn read_partitioned(dir: &Path, listed: &Value) -> usize {
    let name = text(listed, "name");
    let read = |extension: &str| fs::read(dir.join(format!("{name}.{extension}"))).expect("a file");
    let (index, file) = (read("index"), read("partitions"));
    let mut options = OpenOptions::new().with_context(number(listed, "context"));
    if let Some(hasher) = hasher(listed) {
        options = options.expect_hasher(&hasher);
    }
    let filter = PartitionedFilter::open(&index, options).expect(name);
    let load = |at: PartitionHandle| Ok::<_, Infallible>(&file[at.offset as usize..][..at.len as usize]);
    for at in filter.partitions() {
        filter.open_partition(at, load(at).expect("bytes")).expect(name);
    }
    let pairs = String::from_utf8(read("keys")).expect("text");
    let answers = pairs.lines().map(|line| {
        let (order_key, entry) = line.split_once(' ').expect("an order key and an entry");
        let (order_key, hash) = (unhex(order_key), filter.entry_hasher().hasher().hash(&unhex(entry)));
        let at =
            partitioned::led_to(&filter, &order_key).unwrap_or_else(|| panic!("{name}: {line} leads to no partition"));
        let partition = filter.open_partition(at, load(at).expect("bytes")).expect(name);
        assert!(partition.may_contain_hash(hash), "{name}: {line} is denied");
    });
    answers.count()
}

/// Each key, as a point, as every prefix of it, and in the ranges from and to its neighbours; the ranges between two
/// keys, which have none, as the document answers, of some hundred.
fn read_range(dir: &Path, listed: &Value) -> usize {
    let name = text(listed, "name");
    let options = OpenOptions::new().with_context(number(listed, "context"));
    let block = fs::read(dir.join(format!("{name}.bin"))).expect("a block");
    let filter = options.open_ranges(&block[..]).expect(name);
    let keys = ranges::sorted(golden::keys_in(dir, &format!("{name}.keys")));
    assert_eq!(filter.num_entries(), keys.len() as u64, "{name}");
    let is_of_integers = !keys.is_empty() && integer_oracle::are_in(&block);
    let integers = is_of_integers.then(|| Integers::open(&block));
    let (cut, mut answers) = ((!is_of_integers && !keys.is_empty()).then(|| Ranges::open(&block)), 0);
    for (at, key) in keys.iter().enumerate() {
        let before = at.checked_sub(1).map_or(Unbounded, |at| Excluded(&keys[at][..]));
        let next = keys.get(at + 1).map_or(Unbounded, |next| Excluded(&next[..]));
        let key = &key[..];
        assert!(filter.may_contain(key), "{name}: {key:?} is denied");
        for (lower, upper) in [(Included(key), next), (before, Included(key))] {
            assert!(filter.may_contain_range(lower, upper), "{name}: {lower:?} {upper:?} is denied");
        }
        (0..=key.len()).for_each(|len| assert!(filter.may_contain_prefix(&key[..len]), "{name}: {len} of {key:?}"));
        if at % keys.len().div_ceil(200) == 0 {
            let of_integers = integers.as_ref().map(|document| document.may_contain_range(Excluded(key), next));
            let of_cut = cut.as_ref().map(|document| document.may_contain_range(Excluded(key), next));
            let expected = of_integers.or(of_cut);
            assert_eq!(Some(filter.may_contain_range(Excluded(key), next)), expected, "{name}: after {key:?}");
        }
        answers += key.len() + 5;
    }
    answers
}

fn read(dir: &Path) -> Read {
    let mut read = Read::default();
    for listed in list(&dir.join("index.json")) {
        read.answers += read_frame(dir, dir, &listed);
        read.frames += 1;
    }
    let partitioned = dir.join("partitioned");
    if partitioned.exists() {
        for listed in list(&partitioned.join("index.json")) {
            read.answers += read_partitioned(&partitioned, &listed);
            read.partitioned += 1;
        }
    }
    let of_ranges = dir.join("ranges");
    // `v1` has their keys in its code.
    if of_ranges.join("index.json").exists() {
        for listed in list(&of_ranges.join("index.json")) {
            read.answers += read_range(&of_ranges, &listed);
            read.ranges += 1;
        }
        for name in ranges::PARTITIONED.map(|(name, ..)| name) {
            let keys = golden::keys_in(&of_ranges, &format!("{name}.keys"));
            assert!(ranges::read_partitions(&of_ranges, name, &keys) > 1);
            read.answers += 3 * keys.len();
        }
    }
    read
}

fn directories() -> Vec<PathBuf> {
    let golden: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "golden"].iter().collect();
    let mut all: Vec<_> =
        fs::read_dir(golden).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    all.retain(|path| path.is_dir());
    all.sort();
    all
}

/// All that a release publishes.
fn write(dir: &Path) {
    golden::write(dir);
    partitioned::write(&dir.join("partitioned"));
    ranges::write(&dir.join("ranges"), dir);
}

/// Leaves out the frames and the partitioned filters that a directory in `earlier` has, bit for bit.
fn leave_out_repeated(dir: &Path, earlier: &[PathBuf]) {
    let same = |name: &str| {
        let bytes = fs::read(dir.join(name)).expect("a file");
        earlier.iter().any(|earlier| fs::read(earlier.join(name)).is_ok_and(|other| other == bytes))
    };
    let thin = |list_name: &str, files: &dyn Fn(&Value) -> Vec<String>| {
        let mut listed = list(&dir.join(list_name));
        listed.retain(|listed| {
            let files = files(listed);
            let repeated = files.iter().all(|name| same(name));
            files.iter().filter(|_| repeated).for_each(|name| fs::remove_file(dir.join(name)).expect("a file removed"));
            !repeated
        });
        fs::write(dir.join(list_name), serde_json::to_string_pretty(&listed).expect("JSON") + "\n").expect("a list");
        listed
    };
    let left = thin("index.json", &|listed| vec![text(listed, "file").to_owned()]);
    for entry in fs::read_dir(dir).expect("a directory") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        if name.ends_with(".entries") && left.iter().all(|listed| text(listed, "entries") != name) {
            fs::remove_file(dir.join(name)).expect("a file removed");
        }
    }
    let of_filter = |listed: &Value| {
        let name = text(listed, "name");
        ["index", "partitions", "keys"].map(|extension| format!("partitioned/{name}.{extension}")).to_vec()
    };
    thin("partitioned/index.json", &of_filter);
    let of_ranges = |listed: &Value| ["bin", "keys"].map(|of| format!("ranges/{}.{of}", text(listed, "name"))).to_vec();
    thin("ranges/index.json", &of_ranges);
}

#[test]
fn what_was_released_is_read() {
    if let Ok(version) = std::env::var("FILTERBLOCK_RELEASE") {
        let mut earlier = directories();
        let dir = earlier.pop().expect("v1").with_file_name(version);
        assert!(!dir.exists(), "{} is there already", dir.display());
        write(&dir);
        leave_out_repeated(&dir, &earlier);
    }
    let all: Vec<_> = directories().iter().map(|dir| read(dir)).collect();
    let sum = |of: fn(&Read) -> usize| all.iter().map(of).sum::<usize>();
    let (frames, partitioned, ranges) =
        (sum(|read| read.frames), sum(|read| read.partitioned), sum(|read| read.ranges));
    assert!(frames >= 150 && partitioned >= 7, "{all:?}");
    let answers = sum(|read| read.answers);
    let read = format!("{frames} frames, {partitioned} partitioned filters, {ranges} range filters, {answers} answers");
    println!("counted: {} golden directories, {read}", all.len());
}

/// The directory that would be added, with all that this version writes.
#[test]
fn what_would_be_released_is_read() {
    let scratch = tempfile::tempdir().expect("a directory");
    let dir = scratch.path().join("0.0.0");
    write(&dir);
    let all = read(&dir);
    assert!(all.frames >= 150 && all.partitioned >= 7 && all.ranges >= 10, "{all:?}");

    // All but one of the frames have not changed since: `two` has other bytes.
    let earlier = directories();
    let changed = dir.join("bloom-two-10bits.bin");
    let mut block = fs::read(&changed).expect("a frame");
    block.truncate(64);
    fs::write(&changed, &block).expect("a written file");
    leave_out_repeated(&dir, &earlier);
    let left = list(&dir.join("index.json"));
    assert_eq!(left.iter().map(|listed| text(listed, "file")).collect::<Vec<_>>(), ["bloom-two-10bits.bin"]);
    assert!(dir.join("two.entries").exists() && !dir.join("many.entries").exists());
    assert!(list(&dir.join("partitioned/index.json")).is_empty());
    // And it would be noticed.
    let unread = std::panic::catch_unwind(|| read(&dir));
    assert!(unread.is_err(), "a frame without its payload");
}
