//! The operating system's reports about this process (Linux: proc(5)).

use anyhow::{Context, Result};
use std::path::Path;

/// A field such as `VmRSS:  1024 kB` of a file under /proc/self.
fn field(file: &str, name: &str) -> Result<u64> {
    let path = format!("/proc/self/{file}");
    let text = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = value.and_then(|value| value.split_whitespace().next()?.parse().ok());
    number.with_context(|| format!("{path}: no {name}"))
}

/// Resident memory, in bytes.
pub fn resident_bytes() -> Result<u64> {
    Ok(field("status", "VmRSS")? * 1024)
}

/// The largest resident size so far, in bytes.
pub fn peak_resident_bytes() -> Result<u64> {
    Ok(field("status", "VmHWM")? * 1024)
}

/// Bytes handed to write calls: logs, tables, everything.
pub fn written_bytes() -> Result<u64> {
    field("io", "wchar")
}

/// Bytes read so far: through read calls, and of these from the disk.
pub fn read_bytes() -> Result<[u64; 2]> {
    Ok([field("io", "rchar")?, field("io", "read_bytes")?])
}

/// Processor time of all threads so far, user and system, in seconds.
pub fn processor_seconds() -> Result<f64> {
    let path = "/proc/self/stat";
    let text = std::fs::read_to_string(path).context(path)?;
    // Fields 14 and 15, in ticks; the second field may hold spaces, and ends with the last parenthesis.
    let (_, fields) = text.rsplit_once(')').context(path)?;
    let ticks: Vec<u64> = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    // USER_HZ, which is always 100 in what Linux reports to processes.
    Ok(ticks.iter().sum::<u64>() as f64 / 100.0)
}

/// Processor time of this thread so far, in nanoseconds. Other processes on the machine affect it little, and elapsed
/// time a lot.
pub fn thread_processor_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Space allocated to the files under `dir`; some logs are sparse.
pub fn disk_bytes(dir: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut total = 0;
    for entry in std::fs::read_dir(dir).with_context(|| format!("{}", dir.display()))? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        total += if metadata.is_dir() { disk_bytes(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(total)
}

/// The processor's name and how many of its cores this process may use.
pub fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = name.map_or(std::env::consts::ARCH, |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{name}, {cores} cores")
}

/// The kernel's release.
pub fn kernel() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
}
