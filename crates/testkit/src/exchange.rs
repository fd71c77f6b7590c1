//! What one machine writes, others read: used by the tests of the format and by those of the store.
//!
//! Each run writes into a directory named after its processor, and reads the contents of all such directories: first it
//! compares them byte by byte with its own, then it reads them through the library. The environment variable
//! `FILTERBLOCK_EXCHANGE_DIR` names their parent, so that several machines can share it; without it, the run uses a
//! directory of its own. `FILTERBLOCK_EXCHANGE_FROM` lists what must be present, as `machine/part`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The name of this machine's processor.
const HERE: &str = std::env::consts::ARCH;

/// All files of a directory except the lock.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let paths = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let files = paths.map(|path| (name(&path), fs::read(&path).expect("a file")));
    files.filter(|(name, _)| name != "LOCK").collect()
}

/// Has `write` make the directory `part`, and `check` query this part of every machine, which returns the number of its
/// answers. `what` names the part in the printed count.
pub fn exchange(part: &str, what: &str, write: impl Fn(&Path), check: impl Fn(&Path) -> usize) {
    let own = tempfile::tempdir().expect("a directory");
    let shared = std::env::var_os("FILTERBLOCK_EXCHANGE_DIR");
    let dir = shared.as_deref().map_or(own.path(), Path::new);
    let here = dir.join(HERE).join(part);
    if here.exists() {
        fs::remove_dir_all(&here).expect("an old directory removed");
    }
    fs::create_dir_all(&here).expect("a directory");
    write(&here);
    let machines = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").file_name());
    let mut machines: Vec<_> = machines.map(|name| name.into_string().expect("text")).collect();
    machines.retain(|machine| dir.join(machine).join(part).exists());
    machines.sort_unstable();
    let expected = std::env::var("FILTERBLOCK_EXCHANGE_FROM").unwrap_or_default();
    for machine in expected.split_whitespace().filter_map(|from| from.strip_suffix(part)?.strip_suffix('/')) {
        assert!(machines.iter().any(|found| found == machine), "nothing from {machine}, only from {machines:?}");
    }
    let ours = files(&here);
    for machine in &machines {
        let theirs = files(&dir.join(machine).join(part));
        assert!(theirs.keys().eq(ours.keys()), "{machine}: {:?}, here: {:?}", theirs.keys(), ours.keys());
        for (name, bytes) in &theirs {
            assert!(*bytes == ours[name], "{part}/{name} of {machine} is not what is written here");
        }
        let answers = check(&dir.join(machine).join(part));
        let num_files = theirs.len();
        println!("counted: {num_files} {what} written on {machine}, read on {HERE}: the same bytes, {answers} answers");
    }
}
