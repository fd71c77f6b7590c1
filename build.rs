//! Names the sets of engines that the crate has: `simd_x86_64`, `simd_avx512` and `simd_neon`, which its code tests.
//!
//! `RUSTFLAGS='--cfg filterblock_engines="portable"'`, or `"x86_64"`, leaves out the engines beyond: for tests and
//! benchmarks of the others on a machine that has them.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The AVX-512 intrinsics are stable, and safe in functions with their features, from some nightly of 1.89 on.
const AVX512_PROBE: &str = r#"
#![no_std]
use core::arch::x86_64::{__m512i, _mm512_bitshuffle_epi64_mask};
#[target_feature(enable = "avx512f,avx512bw,avx512bitalg")]
pub fn probe(a: __m512i, b: __m512i) -> u64 {
    _mm512_bitshuffle_epi64_mask(a, b)
}
"#;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for variable in ["RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_ENCODED_RUSTFLAGS"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    println!("cargo::rustc-check-cfg=cfg(simd_x86_64, simd_avx512, simd_neon)");
    println!(r#"cargo::rustc-check-cfg=cfg(filterblock_engines, values("portable", "x86_64"))"#);

    let cfg = |name: &str| env::var(format!("CARGO_CFG_{name}")).unwrap_or_default();
    let (architecture, endian, most) = (cfg("TARGET_ARCH"), cfg("TARGET_ENDIAN"), cfg("FILTERBLOCK_ENGINES"));
    // Processors are detected by the standard library.
    if env::var_os("CARGO_FEATURE_STD").is_none() || most == "portable" {
        return;
    }
    match (architecture.as_str(), endian.as_str()) {
        ("x86_64", _) => {
            println!("cargo::rustc-cfg=simd_x86_64");
            if most != "x86_64" && compiles(AVX512_PROBE).unwrap_or(false) {
                println!("cargo::rustc-cfg=simd_avx512");
            }
        }
        ("aarch64", "little") => println!("cargo::rustc-cfg=simd_neon"),
        _ => {}
    }
}

/// Whether the compiler that will compile the crate, with its wrappers and flags, accepts `source`. `None`, taken for
/// no, if that cannot be found out: the crate is then slower, never broken.
fn compiles(source: &str) -> Option<bool> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    let out_dir = PathBuf::from(variable("OUT_DIR")?);
    let path = out_dir.join("avx512_probe.rs");
    std::fs::write(&path, source).ok()?;
    let compiler: Vec<OsString> =
        ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTC"].into_iter().filter_map(variable).collect();
    let flags = variable("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().into_string().ok()?;
    let status = Command::new(compiler.first()?)
        .args(&compiler[1..])
        .args([
            "--edition=2024",
            "--crate-name=avx512_probe",
            "--crate-type=lib",
            "--emit=metadata",
            "--cap-lints=allow",
        ])
        .arg("--target")
        .arg(variable("TARGET")?)
        .args(flags.split('\x1f').filter(|flag| !flag.is_empty()))
        .arg("--out-dir")
        .arg(&out_dir)
        .arg(&path)
        .stderr(Stdio::null())
        .status();
    Some(status.ok()?.success())
}
