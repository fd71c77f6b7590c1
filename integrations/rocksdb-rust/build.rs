//! Compiles the adapter in C++ for the RocksDB that the crate `librocksdb-sys` has compiled, with its flags.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    let sources =
        PathBuf::from(env::var_os("DEP_ROCKSDB_CARGO_MANIFEST_DIR").expect("librocksdb-sys states its directory"));
    // As the build script of librocksdb-sys reads them.
    let include = env::var_os("ROCKSDB_INCLUDE_DIR").map_or_else(|| sources.join("rocksdb/include"), PathBuf::from);
    let standard = env::var("ROCKSDB_CXX_STD").unwrap_or_else(|_| "c++20".to_owned());
    for name in ["ROCKSDB_INCLUDE_DIR", "ROCKSDB_CXX_STD"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let mut build = cc::Build::new();
    build.cpp(true).define("NDEBUG", None).warnings(false).include(include);
    if env::var("TARGET").is_ok_and(|target| target.contains("msvc")) {
        build.flag("-EHsc").flag("-std:c++20");
    } else {
        let standard = standard.trim_start_matches("-std=");
        build.flag(format!("-std={standard}")).flag("-include").flag("cstdint");
    }
    let adapter = Path::new("../rocksdb");
    for directory in [adapter, Path::new("../../crates/filterblock-capi/include")] {
        println!("cargo:rerun-if-changed={}", directory.display());
        build.include(directory);
    }
    build.file("src/bridge.cc");
    println!("cargo:rerun-if-changed=src/bridge.cc");
    for name in ["filterblock_rocksdb.cc", "filterblock_rocksdb_ranges.cc"] {
        build.file(adapter.join(name));
    }
    build.compile("filterblock_rocksdb");
}
