//! What the process asks of the machine before it measures.

/// Keeps the process on one core: caches and clock stay the same.
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

/// Has malloc keep and reuse what is freed. By its default each larger filter is a mapping of its own, and small builds
/// are little but page faults, which a process that has been running for a while does not have.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn keep_freed_memory() {
    // SAFETY: both are documented settings (mallopt(3)), and no other thread runs yet.
    let accepted = unsafe { libc::mallopt(libc::M_MMAP_MAX, 0) & libc::mallopt(libc::M_TRIM_THRESHOLD, -1) };
    if accepted == 0 {
        eprintln!("malloc keeps its settings: small builds are slower than they are");
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep_freed_memory() {}

/// The processor's name, as Linux gives it.
pub fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.to_owned())
}

/// What the compiler was allowed to use throughout, as far as it matters here. Some peers choose more at run time.
pub fn instructions() -> &'static str {
    match (cfg!(target_feature = "avx512f"), cfg!(target_feature = "avx2")) {
        (true, _) => "AVX-512",
        (false, true) => "AVX2",
        (false, false) => "the architecture's base",
    }
}
