# shellcheck shell=bash
# This machine's lanes that take more than one command.

# The first such commands of README.md, word for word.
read -ra tests < <(sed -n 's/^\(cargo test.*\)$/\1/p' README.md)
read -ra demo < <(sed -n 's/^\(cargo run .* demo\)$/\1/p' README.md)
test "${#tests[@]}" -gt 1 && test "${#demo[@]}" -gt 1

proves "format" "one style of source"
format_lane() { cargo fmt --all --check; }

proves "lock files" "that every committed Cargo.lock is what its manifest needs"
# By the registry's index alone, which is asked where it is not here.
lock_files_lane() {
  local manifest num=0
  for manifest in $(git ls-files '*Cargo.lock' | sed 's/lock$/toml/'); do
    echo "$manifest"
    cargo update --quiet --workspace --locked --offline --manifest-path "$manifest" 2>/dev/null ||
      cargo update --quiet --workspace --locked --manifest-path "$manifest"
    num=$((num + 1))
  done
  [ "$num" -gt 0 ]
}

proves "weight" "that no package has more code than its ceiling"
weight_lane() { python3 .ci/weight.py; }

proves "scripts" "scripts without what shellcheck finds"
scripts_lane() {
  local shellcheck=shellcheck
  if ! command -v shellcheck >/dev/null; then
    package_lists
    unpack shellcheck shellcheck
    shellcheck=$beside/usr/bin/shellcheck
  fi
  "$shellcheck" --external-sources --check-sourced --source-path=SCRIPTDIR .ci/run .ci/full .ci/release fuzz/run \
    benches/model/run crates/*/run integrations/*/run python/run
}

# clippy_lane <targets and features>...
proves "clippy" "no lint in any set of features"
clippy_lane() {
  local what
  for what; do
    echo "clippy $what"
    # shellcheck disable=SC2086
    cargo clippy $what -- -D warnings
  done
}

proves "docs" "documentation without broken links, with all features and with those that \`cargo doc\` has by default"
docs_lane() {
  export RUSTDOCFLAGS="-D warnings"
  cargo doc --no-deps
  cargo doc --no-deps --all-features
}

proves "package" "that the published files suffice for a build, and for the examples of the documentation"
# package_lane <packages>...
package_lane() {
  local version unpacked
  # Cargo verifies a package against what it unpacked of those of the same version and directory before, if that is there.
  for unpacked in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/-*/filterblock*; do rm -rf "$unpacked"; done
  # And what it compiled of them: it takes a version of a registry for final.
  while IFS= read -r unpacked; do
    rm -f "$unpacked" "$(dirname "$unpacked")/lib$(basename "$unpacked" .d)".*
  done < <(grep -ls 'registry/src/-' target/*/deps/filterblock*.d)
  cargo package --allow-dirty "$@"
  [ "$tier" = full ] || return 0
  packaged_twice "$@"
  version=$(cargo pkgid -p filterblock)
  export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
  cd "$CARGO_TARGET_DIR/package/filterblock-${version##*[#@]}"
  cargo test --doc
}

# packaged_twice <packages>...: two clones of this commit, at paths of unlike lengths, give the same bytes.
packaged_twice() {
  local clone clones=("$PWD/target/ci/clone" "$PWD/target/ci/another/clone/of/it") file num_files=0
  for clone in "${clones[@]}"; do
    rm -rf "$clone"
    git clone --quiet . "$clone"
    (cd "$clone" && CARGO_TARGET_DIR=target cargo package --quiet --no-verify "$@")
  done
  for file in "${clones[0]}"/target/package/*.crate; do
    cmp "$file" "${clones[1]}/target/package/${file##*/}"
    num_files=$((num_files + 1))
  done
  sha256sum "${clones[0]}"/target/package/*.crate
  rm -rf "${clones[@]}"
  echo "counted: $num_files packages, packaged twice, equal"
}

proves "frozen files" "that what a release wrote is as it was released"
# Only releases add to what it compares, each under its own name: .ci/release.
frozen_lane() {
  local list version versions dated released at known=0
  # Every release that the changelog dates, and every one that ever had a list here.
  dated=$(sed -n 's/^## \([0-9.]*\) ([0-9-]*)$/\1/p' CHANGELOG.md)
  [[ $'\n'$dated$'\n' == *$'\n0.2.0\n0.1.0\n' ]] || { echo "CHANGELOG.md no longer dates 0.2.0 and 0.1.0"; return 1; }
  versions=$(git log --diff-filter=A --format= --name-only -- .ci/frozen 2>/dev/null | sed 's/.*\/\(.*\)\.sha256$/\1/' || true)
  # And every directory of a release.
  versions+=" $dated $(basename -a tests/golden/[0-9]* crates/filterblock-kv/tests/golden/*)"
  # shellcheck disable=SC2086
  for version in $(printf '%s\n' $versions | sort -Vu); do
    list=.ci/frozen/$version.sha256
    [ -e "$list" ] || { echo "the release $version has no list, $list"; return 1; }
    sha256sum --check --quiet --strict "$list"
    diff <(sed 's/^[^ ]*  //' "$list") \
      <(find "tests/golden/$version" "crates/filterblock-kv/tests/golden/$version" -type f | LC_ALL=C sort)
    # The list itself: as the release's commit added it, and as the release's tag has it, whichever is here.
    released=
    for at in $(first_commit "$list") "v$version"; do
      git cat-file -e "$at:$list" 2>/dev/null || continue
      diff <(git show "$at:$list") "$list" || { echo "$list is not as $at has it"; return 1; }
      released=$at
    done
    [ -n "$released" ] || left_out "whether $list is the release's: this clone has neither its commit nor its tag"
    known=$((known + $(wc -l <"$list")))
  done
  # It must notice a changed file.
  if sed '1{s/^[^0]/0/;t;s/^0/1/}' "$list" | sha256sum --check --quiet --strict >/dev/null 2>&1; then return 1; fi
  echo "counted: $known files of releases, as they were released"
}

# first_commit <file>: the commit that first added it; none where the history is not here.
first_commit() {
  [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ] || return 0
  git log --diff-filter=A --format=%H -- "$1" | tail -1
}

# cargo_tool <program>: installs it, or ends the lane.
cargo_tool() {
  ! command -v "$1" >/dev/null || return 0
  [ "$tier" = full ] || cannot "no $1 here; building it takes minutes, which .ci/full spends"
  CARGO_PROFILE_RELEASE_OPT_LEVEL=1 cargo install "$1" --locked || cannot "no $1 here, nor could it be installed"
}

# Advisories would need their database from the network on every run, and would fail a change for what has not changed.
proves "licences, bans, sources" "licences, banned and repeated crates, and where crates come from, of crates/, python and integrations"
# The workspace without benchmarks still has the fuzz targets.
deny_lane() {
  local checks=(check --hide-inclusion-graph licenses bans sources) package
  cargo_tool cargo-deny
  cargo deny --manifest-path python/Cargo.toml --config deny.toml "${checks[@]}"
  if [ "$tier" = full ]; then
    for package in integrations/*/Cargo.toml; do
      cargo deny --manifest-path "$package" --config integrations/deny.toml "${checks[@]}"
    done
  else
    left_out "integrations, whose crates .ci/full fetches"
  fi
  lean cargo deny --workspace --exclude filterblock-fuzz --exclude filterblock-portable "${checks[@]}"
}

proves "interface since the last release" "that no public item of core, engine, set and store is gone or changed, unless the version says so"
# Beside the newest release before this tree's own.
interface_lane() {
  cargo_tool cargo-semver-checks
  local version release entry package packages=() copy=$PWD/target/ci/interface
  # It must notice what it is for: a copy without one function.
  rm -rf "$copy"
  mkdir -p "$copy"
  for entry in *; do
    case $entry in
      target) ;;
      src | Cargo.*) cp -r "$entry" "$copy/" ;;
      *) ln -s "$PWD/$entry" "$copy/" ;;
    esac
  done
  sed -i '/^pub use keys/s/, probe_tables//' "$copy/src/lib.rs"
  echo 'pub(crate) use keys::probe_tables;' >>"$copy/src/lib.rs"
  must_report "function filterblock::probe_tables" cargo semver-checks --manifest-path "$copy/Cargo.toml" \
    --baseline-root "$PWD" --release-type patch
  read -r version release < <(earlier_releases) || true
  if [ -z "$release" ]; then
    left_out "the comparison itself: there is no earlier release in this clone's history"
    return
  fi
  for package in -engine -kv -set; do
    ! git cat-file -e "$release:crates/filterblock$package" || packages+=(-p "filterblock$package")
  done
  echo "beside $version, $release"
  cargo semver-checks --baseline-rev "$release" -p filterblock "${packages[@]}"
}

# The releases before this tree's own, newest first, each with the commit that added its list of frozen files; none where
# the history is not here.
earlier_releases() {
  local own version commit
  own=$(cargo pkgid -p filterblock)
  for version in $(printf '%s\n' .ci/frozen/*.sha256 | sed 's/.*\/\(.*\)\.sha256$/\1/' | sort -Vr); do
    commit=$(first_commit ".ci/frozen/$version.sha256")
    [ "$version" = "${own##*[#@]}" ] || [ -z "$commit" ] || echo "$version $commit"
  done
}

proves "earlier releases' readers" "that they answer as today's whatever this tree writes, or refuse it as newer"
# earlier_readers_lane <frames>: for each release, both libraries in one program.
earlier_readers_lane() {
  local version release releases package=$PWD/target/earlier-reader released features
  releases=$(earlier_releases)
  [ -n "$releases" ] || cannot "there is no earlier release in this clone's history"
  while read -r version release; do
    released=$PWD/target/released/$version features=
    rm -rf "$package" "$released"
    mkdir -p "$package" "$released"
    git archive "$release" | tar -x -C "$released"
    cp Cargo.lock "$package/"
    cat >"$package/Cargo.toml" <<END
[workspace]
[package]
name = "earlier-reader"
edition = "2024"
[[bin]]
name = "earlier-reader"
path = "$PWD/.ci/earlier_reader/main.rs"
[features]
since_0_2 = []
[dependencies]
filterblock = { path = "$PWD" }
filterblock-set = { path = "$PWD/crates/filterblock-set" }
testkit = { package = "filterblock-testkit", path = "$PWD/crates/testkit" }
released = { package = "filterblock", path = "$released" }
END
    if [ -e "$released/crates/filterblock-set" ]; then
      features=since_0_2
      echo "released_set = { package = \"filterblock-set\", path = \"$released/crates/filterblock-set\" }" >>"$package/Cargo.toml"
    fi
    CARGO_TARGET_DIR=$PWD/target cargo run --release --manifest-path "$package/Cargo.toml" --features "$features" -- \
      "$1" "$version"
  done <<<"$releases"
}

proves "tests: ${tests[*]}" "README's command for the tests"
proves "controls of other machines pass here" "that only other machines fail those controls"
proves "reader without std" "that a reader needs no standard library, nor does what it depends on"
reader_without_std_lane() {
  local target=thumbv7m-none-eabi
  local reader=(cargo check -p filterblock --lib --target "$target")
  export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
  cd "$lean" || return
  # A machine for which there is no such library; it must be missed where it is asked for.
  if rustup target add "$target" >/dev/null 2>&1; then
    "${reader[@]}" --no-default-features
    must_report "can't find crate for \`std\`" "${reader[@]}"
  else
    left_out "dependencies that need a standard library: no $target here"
  fi
  cargo test -p filterblock --no-default-features --test kit_reader
}

# As users compile them: a register that a probe takes from its caller goes unnoticed elsewhere.
proves "engines, optimised" "the engines of this processor, in a release build"
engines_lane() {
  report_missing_engines
  lean cargo test -p filterblock --release --config profile.release.package.filterblock.codegen-units=1 \
    --lib -- --nocapture keys::kinds:: codes::
}

# Engines that this processor cannot run.
report_missing_engines() {
  local feature missing=() all="avx2 bmi2 avx512f avx512bw avx512dq avx512ifma avx512vbmi"
  for feature in $all avx512_vbmi2 avx512_bitalg avx512_vpopcntdq; do
    grep -qwm1 "$feature" /proc/cpuinfo || missing+=("$feature")
  done
  [ "${#missing[@]}" = 0 ] || left_out "engines that need what this processor lacks: ${missing[*]}"
}

# Debug builds are too slow for the full plans.
proves "the store against crashes, faults, damage and kills" "the full plans of crashes, faults, damage and kills"
proves "blocks, exhaustively" "every bit, length and field of blocks; hundreds of millions of stored keys; rates to a thousandth"
proves "the writer's choices" "that the library's writer chooses what the document states, for every number of entries up to 5 000"
proves "accepted policies" "that every policy that is accepted builds of any number of keys, denies none, and keeps its bounds"
accepted_lane() {
  lean cargo test --release --test format accepted:: -- --nocapture
  lean cargo test --release -p filterblock-set --test set accepted:: -- --nocapture
}
proves "demo, small" "README's command for the demo"
# The program that tests build, which has other features of its dependencies than one that is built by itself.
tested_demo_lane() {
  lean cargo test --no-run --test cli
  "$CARGO_TARGET_DIR/debug/filterblock" demo --rows 20000
}

# Native libraries that comparisons link to. Prints those that are missing.
missing_engines() {
  local libraries library
  libraries=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null || true)
  for library; do
    [[ $libraries == *"lib$library.so "* ]] || echo "lib$library-dev"
  done
}

proves "comparison with peers compiles" "the build and the tests of benches/compare, and the build of what benches/model counts"
peers_lane() {
  cargo check -p filterblock-model
  comparison compare rocksdb leveldb
}

# comparison <directory> <what its engines are>...: compiles without them and with them.
comparison() {
  local manifest=benches/$1/Cargo.toml missing
  shift
  cargo test --manifest-path "$manifest"
  missing=$(missing_engines "$@")
  [ -z "$missing" ] || cannot "compiled without engines; missing here: ${missing//$'\n'/, }"
  cargo check --manifest-path "$manifest" --features engines
}

# The phases that compare filters; those that load take longer.
proves "comparison of stores, small" "the tests of benches/store; right answers of every engine, wherever its filters are; what an attacker gains"
stores_lane() {
  local engines=()
  [ -n "$(missing_engines rocksdb)" ] || engines=(--features engines)
  cargo run --manifest-path benches/store/Cargo.toml "${engines[@]}" --bin filterblock-store-compare -- --n 20000 --gets 300 --rounds 1 --memory 1MiB \
    --phases absent,present,prefix-absent,prefix-present --keys zipfian --filters bloom,ribbon --dir target/ci
  cargo run -p filterblock-store-compare "${engines[@]}" --bin adversary -- --rows 4000 --crafted 500
  cargo run -p filterblock-store-compare "${engines[@]}" --bin elastic -- --rows 20000 --lookups 1000 --dir target/ci
  comparison store rocksdb
}

proves "Parquet" "Parquet's split-block filter beside arrow-rs and DuckDB: equal bits, no false exclusion either way"
parquet_lane() {
  integrations/parquet/run || case $? in
    3) cannot "DuckDB could not be installed; without it all has passed" ;;
    *) return 1 ;;
  esac
}

# In a workspace of its own: DataFusion is compiled here only.
proves "DataFusion" "Parquet files skipped by a filter set: rows as without one, damaged and outdated sets, requests"
datafusion_lane() { integrations/datafusion/run short; }

# Another workspace, which compiles DataFusion with more of its features.
proves "Ballista" "a cluster as it is shipped finds the rows by plans that a set has made smaller"
ballista_lane() { integrations/ballista/run; }

proves "Python" "the wheel: its tests, its types, odd calls beside Python's sets, and the example that prunes Parquet files"
# In the fullest tier: a million lookups of one set by eight threads, more sequences of odd calls beside Python's own sets,
# 20 s of fuzzing, and packages made twice.
python_lane() {
  local sequences=()
  [ "$tier" != full ] || { export FILTERBLOCK_LOOKUPS=1000000 && sequences=(20000 20); }
  python/run "${sequences[@]}" || case $? in 3) cannot "no Python with its packages here" ;; *) return 1 ;; esac
}

# In the build that the tests have filled.
proves "C interface" "the calls of include/filterblock.h and their misuse, under valgrind and AddressSanitizer; that the package makes it"
c_lane() {
  command -v cc >/dev/null || cannot "no C compiler here"
  [ "$tier" = run ] || command -v valgrind >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq valgrind >/dev/null 2>&1 || true
  if [ "$tier" = full ] && ! command -v cbindgen >/dev/null; then
    CARGO_PROFILE_RELEASE_OPT_LEVEL=1 cargo install cbindgen --locked || true
  fi
  export FILTERBLOCK_C_PROFILE=dev
  if [ "$tier" = full ]; then lean crates/filterblock-capi/run; else lean crates/filterblock-capi/run short; fi
}

# In the build that the tests have filled.
proves "LevelDB" "filter blocks inside LevelDB: keys found, reads avoided, damage, sizes beside its own; in rusty-leveldb, too"
leveldb_lane() {
  command -v c++ >/dev/null || cannot "no C++ compiler here"
  [ "$tier" = full ] || [ -z "$(missing_engines leveldb)" ] || cannot "missing here: libleveldb-dev"
  export FILTERBLOCK_C_PROFILE=dev
  if [ "$tier" != full ]; then
    lean integrations/leveldb/run short
    return
  fi
  # `lean` changes the directory, to one that has no integrations.
  (lean integrations/leveldb/run)
  cargo test --release -p filterblock-rusty-leveldb
}

# rocksdb_lane <keys>: in the build that the tests have filled.
proves "RocksDB" "filters inside RocksDB: lookups counted by its tickers, tables of its own policies, damaged files, options files"
rocksdb_lane() {
  command -v c++ >/dev/null || cannot "no C++ compiler here"
  if [ "$tier" = full ] && [ -n "$(missing_engines rocksdb)" ]; then
    DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq librocksdb-dev >/dev/null 2>&1 || true
  fi
  [ -z "$(missing_engines rocksdb)" ] || cannot "missing here: librocksdb-dev"
  export FILTERBLOCK_C_PROFILE=dev
  lean integrations/rocksdb/run "$1"
}

# Installs the server, too, which `run` starts and stops.
proves "SlateDB" "filter blocks inside SlateDB: keys found, reads saved, damage; local files, an S3-compatible server, processes"
slatedb_lane() { integrations/slatedb/run short; }

nightly() { cargo +nightly --version >/dev/null 2>&1 || cannot "no nightly toolchain"; }

# The unit tests and the format's, on all cores and in huge pages. The store has no unsafe code, and the standard
# library is not instrumented.
proves "AddressSanitizer, rayon, huge pages" "no read or write past an allocation; the same bytes on all cores"
sanitizer_lane() {
  report_missing_engines
  nightly
  local target=x86_64-unknown-linux-gnu
  export CARGO_TARGET_DIR=$PWD/target/asan RUSTFLAGS=-Zsanitizer=address
  # It must notice the mistakes that it is for.
  local control=$CARGO_TARGET_DIR/control
  mkdir -p "$CARGO_TARGET_DIR"
  rustc +nightly "$RUSTFLAGS" --target "$target" --edition 2024 -o "$control" .ci/control.rs
  must_report "heap-buffer-overflow" "$control"
  if ! must_report "detected memory leaks" "$control" leak; then
    # A kernel may forbid a process to trace its own threads.
    left_out "leaks, which cannot be looked for here"
    export ASAN_OPTIONS=detect_leaks=0
  fi
  lean cargo +nightly test -p filterblock --target "$target" --features rayon,huge-pages \
    --lib --test format --test kit_reader -- --skip rates::
}

# With a standard library that is instrumented, too: its source is a component of the toolchain. Threads that write, read and
# maintain one store, and readers that many threads share.
proves "ThreadSanitizer, the store and shared readers" "no two threads use memory at once without order"
thread_sanitizer_lane() {
  nightly
  rustup component add rust-src --toolchain nightly >/dev/null 2>&1 || cannot "no source of the standard library here"
  local target=x86_64-unknown-linux-gnu control
  export CARGO_TARGET_DIR=$PWD/target/tsan RUSTFLAGS=-Zsanitizer=thread TSAN_OPTIONS=halt_on_error=1
  control=$CARGO_TARGET_DIR/control
  mkdir -p "$control/src"
  cp .ci/control.rs "$control/src/main.rs"
  printf '[package]\nname = "control"\nedition = "2024"\n[workspace]\n' >"$control/Cargo.toml"
  must_report "data race" cargo +nightly run --quiet -Zbuild-std --target "$target" \
    --manifest-path "$control/Cargo.toml" -- race
  # Builds on all cores are left out: rayon's fences are not followed.
  lean cargo +nightly test -Zbuild-std --target "$target" -p filterblock-kv -p filterblock-set -p filterblock-engine \
    --lib --test kv --test set -- concurrent:: panics:: durability:: threads:: cache:: ledger::
}

# must_report <what> <command>...: the command fails, and prints this.
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

# Under schedules that the system would hardly choose.
proves "the store under many schedules" "no deadlock and no wrong answer under thousands of schedules of its threads"
schedules_lane() {
  export RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR=$PWD/target/shuttle
  lean cargo test -p filterblock-kv --release --test shuttle -- --nocapture
}

proves "fuzz corpora, replayed" "every checked-in input of the fuzz targets"
# replay_lane <packages and tests>: some of the replays must be among them.
replay_lane() {
  lean cargo test "$@" -- --nocapture | tee "$logs/replayed"
  grep -q "^test replay::" "$logs/replayed"
}

# fuzz_lane <seconds for each target>: from the checked-in corpora.
proves "fuzz" "inputs that no one has thought of"
fuzz_lane() {
  nightly
  cargo_tool cargo-fuzz
  fuzz/run -j 2 "$1"
}

# Sets `python` to an interpreter with the package xxhash, which is installed beside the build where the system lacks it.
find_python() {
  local needs="no python3 of 3.11 or newer with the package xxhash here"
  python=python3
  python3 -c 'import sys; assert sys.version_info >= (3, 11)' 2>/dev/null || cannot "$needs"
  if ! python3 -c 'import xxhash' 2>/dev/null; then
    python=$PWD/target/second-reader/bin/python3
    if ! "$python" -c 'import xxhash' 2>/dev/null; then
      python3 -m venv "$PWD/target/second-reader" || cannot "$needs"
      "$python" -m pip install --quiet xxhash || cannot "$needs"
    fi
  fi
}

# second_reader_lane [--release]
proves "a second reader, in Python" "that the reader written from format-spec.md alone agrees with the library"
second_reader_lane() {
  local python
  find_python
  FILTERBLOCK_PYTHON=$python \
    lean cargo test "$@" --test second_reader -- --ignored --nocapture --test-threads 1
  [ "$tier" = run ] || FILTERBLOCK_PYTHON=$python \
    lean cargo test "$@" -p filterblock-set -- --ignored --nocapture second_reader
}

# kit_lane [--release]: in the build that the tests have filled.
proves "conformance kit" "that the library, the document's rules and the second reader pass tests/conformance"
kit_lane() {
  local python
  find_python
  FILTERBLOCK_PYTHON=$python \
    lean cargo test "$@" --test kit -- --include-ignored --nocapture --test-threads 1
}

proves "reader in JavaScript" "that a reader written from format-spec.md alone passes tests/conformance for blocks, compact frames and indexes, in every field"
proves "reader in Java" "that another passes the same"
# answer_kit <language> <program that must be there> <Debian package of it> <source>
answer_kit() {
  if [ "$tier" = full ] && ! command -v "$2" >/dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq --no-install-recommends "$3" >/dev/null 2>&1 || true
  fi
  command -v "$2" >/dev/null || cannot "missing here: $3"
  # The JDK's launcher compiles a program of one file.
  python3 tests/conformance/run.py --every-field --frames block,compact,index "${2/javac/java}" "$4" | sed "s/^counted: /&reader in $1: /"
}

proves "broken readers" "that the conformance kit notices readers that are wrong in one place"
broken_readers_lane() {
  local python
  find_python
  "$python" -B tests/second_reader/mutate.py
}
