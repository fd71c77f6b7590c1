# shellcheck shell=bash
# This machine's lanes that take more than one command.

# Copies of the commands that README.md shows first.
tests=$(sed -n 's/^\(cargo test .*\)$/\1/p' README.md | head -n 1)
demo=$(sed -n 's/^\(cargo run .* demo\)$/\1/p' README.md | head -n 1)
test -n "$tests" && test -n "$demo"

# The package and those beside it, which have workspaces of their own.
format_lane() {
  local manifest
  cargo fmt --all --check
  for manifest in fuzz/Cargo.toml benches/*/Cargo.toml; do
    cargo fmt --manifest-path "$manifest" --check
  done
}

scripts_lane() {
  local shellcheck=shellcheck
  if ! command -v shellcheck >/dev/null; then
    package_lists
    unpack shellcheck shellcheck
    shellcheck=$beside/usr/bin/shellcheck
  fi
  "$shellcheck" --external-sources --check-sourced --source-path=SCRIPTDIR .ci/run fuzz/run
}

clippy_lane() {
  local features
  for features in --no-default-features "" "--features kv" --all-features; do
    echo "clippy $features"
    # shellcheck disable=SC2086
    cargo clippy --all-targets $features -- -D warnings
  done
}

# Native libraries that comparisons link to. Prints those that are missing.
missing_engines() {
  local libraries library
  libraries=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null || true)
  for library; do
    [[ $libraries == *"lib$library.so "* ]] || echo "lib$library-dev"
  done
}

# comparison <directory> <what its engines are>...: compiles without them and with them.
comparison() {
  local manifest=benches/$1/Cargo.toml missing
  shift
  cargo check --manifest-path "$manifest"
  missing=$(missing_engines "$@")
  [ -z "$missing" ] || cannot "compiled without engines; missing here: ${missing//$'\n'/, }"
  cargo check --manifest-path "$manifest" --features engines
}

nightly() { cargo +nightly --version >/dev/null 2>&1 || cannot "no nightly toolchain"; }

# What has unsafe code, under AddressSanitizer; the store has none. The standard library is not instrumented.
sanitizer_lane() {
  nightly
  local target=x86_64-unknown-linux-gnu
  export CARGO_TARGET_DIR=$PWD/target/asan RUSTFLAGS=-Zsanitizer=address
  # It must notice what it is here for.
  local control=$CARGO_TARGET_DIR/control
  mkdir -p "$CARGO_TARGET_DIR"
  rustc +nightly "$RUSTFLAGS" --target "$target" --edition 2024 -o "$control" .ci/control.rs
  must_report "heap-buffer-overflow" "$control"
  if ! must_report "detected memory leaks" "$control" leak; then
    # The kernel may forbid it to look at its own threads.
    echo "LEAKS ARE NOT LOOKED FOR here"
    export ASAN_OPTIONS=detect_leaks=0
  fi
  lean cargo +nightly test --target "$target" --features rayon,huge-pages --lib --test format --test reader -- --skip rates::
}

# must_report <what> <command>...: it fails and says so.
must_report() {
  local what=$1 output
  shift
  if output=$("$@" 2>&1) || ! grep -qF "$what" <<<"$output"; then
    echo "$output"
    echo "not noticed: $what"
    return 1
  fi
  echo "counted: 1 mistake made on purpose and noticed: $what"
}

# The store's threads under other schedules than the system's.
schedules_lane() {
  export RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR=$PWD/target/shuttle
  lean cargo test --release --features kv --test shuttle -- --nocapture
}

# Licences, banned and repeated crates, and where they come from. Advisories would need their database from the network
# on every run, and would fail a change for what has not changed.
deny_lane() {
  command -v cargo-deny >/dev/null || cannot "no cargo-deny here: \`cargo install cargo-deny --locked\` takes minutes"
  cargo deny check --hide-inclusion-graph licenses bans sources
}

# The fuzz targets' code, and every checked-in input through it.
corpora_lane() {
  cargo clippy --manifest-path fuzz/Cargo.toml --all-targets -- -D warnings
  cargo test --manifest-path fuzz/Cargo.toml -- --nocapture
}

# Short fuzz runs from the checked-in corpora.
fuzz_lane() {
  nightly
  command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked || cannot "no cargo-fuzz here, nor could it be installed"
  fuzz/run -j 2 10
}

# The reader in Python that was written from format-spec.md alone, on random frames. Its package goes beside the build where
# the system lacks it.
second_reader_lane() {
  local python=python3 needs="no python3 of 3.11 or newer with the package xxhash here"
  python3 -c 'import sys; assert sys.version_info >= (3, 11)' 2>/dev/null || cannot "$needs"
  if ! python3 -c 'import xxhash' 2>/dev/null; then
    python=$PWD/target/second-reader/bin/python3
    if ! "$python" -c 'import xxhash' 2>/dev/null; then
      python3 -m venv "$PWD/target/second-reader" || cannot "$needs"
      "$python" -m pip install --quiet xxhash || cannot "$needs"
    fi
  fi
  FILTERBLOCK_PYTHON=$python lean cargo test --release --features cli --test second_reader -- --ignored --nocapture --test-threads 1
}
