//! Tells the crate whether this compiler has the AVX-512 intrinsics: they are stable from 1.89 on, and older compilers
//! are supported.

use std::process::Command;

/// First minor version with stable AVX-512 intrinsics.
const AVX512_SINCE: u32 = 89;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(avx512_intrinsics)");
    // Unknown versions are taken for old: slower, never broken.
    if minor_version().is_some_and(|minor| minor >= AVX512_SINCE) {
        println!("cargo::rustc-cfg=avx512_intrinsics");
    }
}

/// The `y` of `rustc x.y.z`.
fn minor_version() -> Option<u32> {
    let rustc = std::env::var_os("RUSTC")?;
    let output = Command::new(rustc).arg("--version").output().ok()?;
    String::from_utf8(output.stdout).ok()?.split('.').nth(1)?.parse().ok()
}
