//! The machine that a report's times are of.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: u64 = 86_400;

pub(super) struct Machine {
    processor: String,
    num_cores: usize,
    memory_bytes: Option<u64>,
    kernel: String,
    /// File system and device of the store.
    disk: String,
    /// Of the report, in UTC.
    date: String,
}

impl Machine {
    /// This one, with a store in `dir`. What a platform does not tell is `unknown`.
    pub(super) fn of(dir: &Path) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let known = |text: Option<String>| text.filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".to_owned());
        let processor = field(&read("/proc/cpuinfo"), "model name");
        let memory = field(&read("/proc/meminfo"), "MemTotal").and_then(|kib| kib.split(' ').next()?.parse().ok());
        let kernel = ["ostype", "osrelease"].map(|name| read(&format!("/proc/sys/kernel/{name}")).trim().to_owned());
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Self {
            processor: known(processor),
            num_cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            memory_bytes: memory.map(|kib: u64| kib * 1024),
            kernel: known(Some(kernel.join(" ").trim().to_owned())),
            disk: known(fs::canonicalize(dir).ok().and_then(|dir| mount(&read("/proc/self/mountinfo"), &dir))),
            date: date(seconds),
        }
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "processor": self.processor,
            "cores": self.num_cores,
            "memory_bytes": self.memory_bytes,
            "kernel": self.kernel,
            "disk": self.disk,
            "date": self.date,
        })
    }

    /// For people: names and lines.
    pub(super) fn facts(&self) -> Vec<(&'static str, Vec<String>)> {
        let memory = self.memory_bytes.map_or_else(String::new, |bytes| format!(", {} GiB", bytes >> 30));
        let cores = if self.num_cores == 1 { "core" } else { "cores" };
        vec![
            ("Machine", vec![format!("{}, {} {cores}{memory}", self.processor, self.num_cores)]),
            ("Disk", vec![self.disk.clone()]),
            ("Kernel", vec![self.kernel.clone()]),
            ("Date", vec![self.date.clone()]),
        ]
    }
}

/// The first value of a field of a file in /proc.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (field, value) = line.split_once(':')?;
        (field.trim() == name).then(|| value.trim().to_owned())
    })
}

/// File system and device of the mount that holds `dir`, from proc_pid_mountinfo(5): of those whose place begins its
/// path the longest, and of several the last.
fn mount(mounts: &str, dir: &Path) -> Option<String> {
    let parsed = mounts.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let (place, mut after) = (before.split(' ').nth(4)?.replace("\\040", " "), after.split(' '));
        Some((place, after.next()?, after.next()?))
    });
    let holding = parsed.filter(|(place, ..)| dir.starts_with(place));
    holding.max_by_key(|(place, ..)| place.len()).map(|(_, kind, device)| format!("{kind} on {device}"))
}

/// A day of the Gregorian calendar. (H. Hinnant, *chrono-compatible low-level date algorithms*, `civil_from_days`.)
fn date(seconds: u64) -> String {
    // Days since 1 March 0000, so that leap days end their years; 400 years have 146 097 days.
    let days = seconds / SECONDS_PER_DAY + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::{date, field, mount};
    use std::path::Path;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_709_164_800, "2024-02-29"),
            (1_735_689_599, "2024-12-31"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }

    #[test]
    fn the_longest_and_last_mount_holds_a_directory() {
        let mounts = "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      25 24 0:5 / /mnt/my\\040disk rw shared:1 - xfs /dev/sdb rw\n\
                      26 24 0:6 / /mnt rw - tmpfs tmpfs rw\n\
                      27 24 0:7 / /mnt rw - btrfs /dev/sdc rw\n";
        let of = |dir: &str| mount(mounts, Path::new(dir)).unwrap();
        assert_eq!(of("/home"), "ext4 on /dev/sda1");
        assert_eq!(of("/mnt/my disk/store"), "xfs on /dev/sdb");
        assert_eq!(of("/mnt/my"), "btrfs on /dev/sdc");
        assert_eq!(field("a : 1\nmodel name\t: X 2: 3\nmodel name: Y\n", "model name").as_deref(), Some("X 2: 3"));
    }
}
