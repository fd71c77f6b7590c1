# shellcheck shell=bash
# The oldest compiler, and other machines: tests built by it and run under emulation, or natively
# where the processor can. Each machine writes files that the others read, and runs controls that must fail there.

# The directory of those files.
exchange=$PWD/target/ci/exchange
take_part_in_exchange() {
  local part
  export FILTERBLOCK_EXCHANGE_DIR=$exchange FILTERBLOCK_EXCHANGE_FROM=''
  for part in "$exchange"/*/*; do
    [ ! -d "$part" ] || FILTERBLOCK_EXCHANGE_FROM+="${part#"$exchange"/} "
  done
}

# Left out under emulation, by a part of their names, with the reason. A part that fits no test ends the lane. `foreign`
# takes the name of one of these lists.
# shellcheck disable=SC2034
declare -A slow_in_format_tests=(
  ["agreement::small_sets_agree"]="larger sets and any sets are compared"
  ["order::"]="the order of keys; no machine has one of its own"
  ["ribbon::equations_that_cross_a_cut"]="a minute: a large table; smaller ones are compared with the document"
  ["ribbon::the_writers_layers_are"]="half a minute: the same layers as elsewhere by the golden files"
  ["ranges::no_range_"]="a minute: sets of many keys and every small set; the kit's answers and the golden files are run"
  ["safe_keys::no_stored_key"]="ten seconds; the same bits as elsewhere by the golden files"
  ["fuse::the_writers_blocks"]="ten seconds; the same bits as elsewhere by the golden files"
  ["range_plans::more_bits"]="half a minute: a model in floats; the document's vectors are run"
  ["choice::a_filter_pays"]="half a minute: costs in floats; the choices that the document states are run"
  ["choice::rounding_decides"]="ten seconds: costs in floats; the choices that the document states are run"
  ["choice::the_block_is"]="ten seconds: costs in floats; the choices that the document states are run"
  ["choice::partitions_of"]="ten seconds: costs in floats; the choices that the document states are run"
  ["hostile::sets_of_every_shape"]="a minute: builds of odd sets, whose bytes the golden files compare"
)
# shellcheck disable=SC2034
declare -A slow_in_library_tests=(
  ["keys::kinds::blocked::sizing::probes::tests::the_"]="minutes: a model in floats, which golden files depend on too"
  ["order::millions_of_hashes_make_the_same_block_in_any_order"]="a minute; the same with fewer hashes is run"
  ["order::one_hash_added_a_million_times_is_one_entry"]="a minute; the same with fewer hashes is run"
)
# shellcheck disable=SC2034
declare -A slow_in_store_tests=(
  ["beside::a_reader"]="a second process, which the emulator does not start"
  ["descriptors::a_"]="a second process, which the emulator does not start"
  ["directory::a_relative_path"]="a second process, which the emulator does not start"
  ["panics::a_panic_of_the_background_thread"]="its limit of time is not meant for an emulator"
  ["repair::one_table::each_table_in_turn"]="minutes: hundreds of repairs; those of level 0, of logs and of filters are run"
  ["repair::faults::"]="minutes: thousands of repairs; no machine changes the order of writes"
)
# Tests of tests/format, which every lane runs: in all of these lists.
declare -A slow_in_all=(
  ["accepted::every_policy_that_is_parsed"]="minutes: thousands of policies, which all words of 64 bits size alike"
  ["rates::"]="minutes: a million keys for each rate, the same bits as elsewhere by the golden files"
  ["agreement::extreme_hashes_agree_with_the_oracle"]="minutes: an oracle of 128-bit integers; three other tests use it"
  ["batches::batches_of_large_blocks_answer_as_single_queries"]="a minute; the same with smaller blocks is run"
  ["choice::the_choice_is_the_least"]="minutes: thousands of costs in floats; other tests of the choice are run"
  ["choice::more_of_an_input_never"]="minutes: thousands of costs in floats; other tests of the choice are run"
  ["choice::a_cap_that_any_kind_can_meet"]="minutes: thousands of costs in floats; other tests of the choice are run"
  ["releases::what_would_be_released"]="a minute: the same files, written and read by other tests"
)
# shellcheck disable=SC2034
for name in "${!slow_in_all[@]}"; do
  slow_in_format_tests[$name]=${slow_in_all[$name]}
  slow_in_library_tests[$name]=${slow_in_all[$name]}
done
# shellcheck disable=SC2034
for name in "${!slow_in_library_tests[@]}"; do slow_in_store_tests[$name]=${slow_in_library_tests[$name]}; done
unset name

proves "oldest compiler: $msrv" "that the library and the tool build with rustc $msrv"
oldest_compiler_lane() {
  oldest_compiler
  export CARGO_TARGET_DIR=$PWD/target/debian
  cd "$lean" || return
  cargo check --lib --bins --all-features
  cargo check -p filterblock --lib --no-default-features
}

# Whether the processor and the kernel run programs of 32 bits: the C library's loader is one.
runs_i686() {
  local root
  for root in "$beside" ''; do
    ! "$root/usr/i686-linux-gnu/lib/ld-linux.so.2" --version >/dev/null 2>&1 || return 0
  done
  return 1
}

proves "32 bits: i686" "the library, the format, blocks, the store and damage to it where usize has 32 bits"
proves "big-endian: s390x" "the library, the format, blocks and the store where the most significant byte comes first"
proves "NEON: aarch64" "the NEON engine"
# foreign <Debian's name of an architecture> <its processor> <emulator> <controls that must fail>
#   <array of tests that are left out> <packages and tests>...
foreign() {
  local architecture=$1 processor=$2 emulator=$3 must_fail=$4
  local -n slow=$5
  shift 5
  local target=$processor-unknown-linux-gnu variable skips=() name listed num
  cross_compiler "$architecture" "$processor"
  [ "$architecture" != i386 ] || ! runs_i686 || emulator=''
  variable=CARGO_TARGET_${processor^^}_UNKNOWN_LINUX_GNU
  # Static, as the C library's linker script names files by where an installation would put them.
  export "${variable}_LINKER=$processor-linux-gnu-gcc" "${variable}_RUSTFLAGS=-C target-feature=+crt-static -D warnings"
  [ -z "$emulator" ] || export "${variable}_RUNNER=$emulator"
  export CARGO_TARGET_DIR=$PWD/target/debian
  take_part_in_exchange
  cd "$lean" || return
  local suite=(cargo test --target "$target" "$@")

  cargo check -p filterblock --target "$target" --lib --no-default-features
  listed=$("${suite[@]}" -- --list)
  for name in "${!slow[@]}"; do
    num=$(grep -cF "$name" <<<"$listed") || { echo "no test has $name in its name"; return 1; }
    left_out "$num tests with $name in their names: ${slow[$name]}"
    skips+=(--skip "$name")
  done
  "${suite[@]}" -- --show-output "${skips[@]}"
  controls "$must_fail" cargo test -p filterblock --target "$target" --test format
}

# controls <names> <command>...: of the tests that make a mistake on purpose, these fail, and the others pass.
controls() {
  local must_fail=" $1 " name expected status output
  shift
  for name in byte_order word_size; do
    expected=ok
    [[ $must_fail != *" $name "* ]] || expected=FAILED
    status=0
    output=$("$@" -- --ignored --exact "control::control_$name" 2>&1) || status=$?
    if ! grep -q "^test control::control_$name .* $expected$" <<<"$output" || [ "$expected$status" = FAILED0 ]; then
      echo "$output"
      echo "control_$name: not $expected: this is not the machine that the lane is for"
      return 1
    fi
    echo "counted: the test control_$name, $expected, as it must be on this machine"
  done
}

proves "other machines' files, read here" "that code of the newest compiler reads what other machines have written"
exchange_lane() {
  take_part_in_exchange
  case $FILTERBLOCK_EXCHANGE_FROM in
    *" "*" ") lean cargo test --test format --test kv exchange:: -- --show-output ;;
    *) cannot "no other machine has written anything" ;;
  esac
}
