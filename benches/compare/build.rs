//! With the feature `engines`: compiles the C ABI over RocksDB and LevelDB and, where `ROCKSDB_SRC` names a RocksDB
//! source tree, RocksDB's own query code for this machine.

/// The engines' loops.
const CPP: &str = "cpp";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(rocksdb_src)");
    println!("cargo::rerun-if-changed={CPP}");
    println!("cargo::rerun-if-env-changed=ROCKSDB_SRC");
    #[cfg(feature = "engines")]
    engines();
}

#[cfg(feature = "engines")]
fn engines() {
    let mut cpp = cc::Build::new();
    cpp.cpp(true).std("c++20").opt_level(3).warnings(false);
    cpp.clone().file(format!("{CPP}/rocksdb.cc")).file(format!("{CPP}/leveldb.cc")).compile("compare_engines");
    if let Some(source) = std::env::var_os("ROCKSDB_SRC").map(std::path::PathBuf::from) {
        assert!(source.join("util/bloom_impl.h").exists(), "ROCKSDB_SRC={source:?} is not a RocksDB source tree");
        cpp.flag("-march=native")
            // A namespace of its own keeps the tree's inline functions apart from the shared library's.
            .define("ROCKSDB_NAMESPACE", "rocksdb_src")
            .define("ROCKSDB_PLATFORM_POSIX", None)
            .define("ROCKSDB_LIB_IO_POSIX", None)
            .define("OS_LINUX", None)
            .include(&source)
            .include(source.join("include"))
            .file(format!("{CPP}/rocksdb_avx2.cc"))
            .compile("compare_rocksdb_avx2");
        println!("cargo::rustc-cfg=rocksdb_src");
    }
    println!("cargo::rustc-link-lib=dylib=rocksdb");
    println!("cargo::rustc-link-lib=dylib=leveldb");
}
