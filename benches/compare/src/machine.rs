//! Settings of the process before it measures, and facts about the machine for the report.

/// Pins the process to one core, so that caches and clock stay the same.
#[cfg(target_os = "linux")]
pub fn pin(core: usize) -> anyhow::Result<()> {
    use anyhow::{Context, ensure};
    use rustix::thread::{CpuSet, sched_setaffinity};

    ensure!(core < CpuSet::MAX_CPU, "core {core}: at most {}", CpuSet::MAX_CPU - 1);
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores).with_context(|| format!("core {core}"))
}

#[cfg(not(target_os = "linux"))]
pub fn pin(_core: usize) -> anyhow::Result<()> {
    anyhow::bail!("--core is for Linux")
}

/// Makes malloc keep and reuse freed memory. By default each larger filter is a mapping of its own, and small builds
/// spend most of their time in page faults, which a long-running process does not have.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn keep_freed_memory() {
    // SAFETY: both are documented settings (mallopt(3)), and no other thread runs yet.
    let accepted = unsafe { libc::mallopt(libc::M_MMAP_MAX, 0) & libc::mallopt(libc::M_TRIM_THRESHOLD, -1) };
    if accepted == 0 {
        eprintln!("malloc refused the settings: small builds will seem slower than they are");
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep_freed_memory() {}

/// The processor's name, family and model, as Linux gives them.
pub fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let mut fields = info.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(found, _)| found.trim() == name).map(|(_, value)| value.trim())
    };
    match [field("model name"), field("cpu family"), field("model")] {
        [Some(name), Some(family), Some(model)] => format!("{name}, family {family}, model {model}"),
        _ => std::env::consts::ARCH.to_owned(),
    }
}

/// Today's date, as `date` prints it.
pub fn date() -> String {
    let printed = std::process::Command::new("date").args(["-u", "+%F"]).output();
    printed.map_or_else(|_| "unknown".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The instructions that the compiler was allowed to use everywhere. Some peers choose more at run time.
pub fn instructions() -> &'static str {
    match (cfg!(target_feature = "avx512f"), cfg!(target_feature = "avx2")) {
        (true, _) => "AVX-512",
        (false, true) => "AVX2",
        (false, false) => "the architecture's base",
    }
}
