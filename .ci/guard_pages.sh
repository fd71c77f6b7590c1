# shellcheck shell=bash
# Reads out of bounds, by pages that cannot be read: AddressSanitizer does not check assembly. Such
# mistakes, made on purpose in a copy of the sources, must end the tests.

proves "reads out of bounds" "no read past a page that cannot be read, in assembly as well"
guard_pages_lane() {
  report_missing_engines
  lean cargo test -p filterblock --lib --test guard_pages -- --nocapture guard_pages out_of_bounds
  guard_page_control "the second half of a line is read behind it" src/keys/kinds/blocked/avx2/probe.rs \
    's/"vmovdqu ymm2, \[{line} + 32\]"/"vmovdqu ymm2, [{line} + 64]"/'
  guard_page_control "the last columns are read as if others followed" src/keys/kinds/ribbon/avx2.rs \
    's/window.second + GROUP_LEN > payload.len()/window.second > payload.len()/'
  guard_page_control "remainders are read from before the first" src/codes/avx512.rs \
    's/if !(unpack.loaded\[usize::from(all)\]..=codes.len() as u64).contains(&end_byte)/if end_byte > codes.len() as u64/' \
    avx512f avx512vl avx512bw avx512dq avx512ifma avx512vbmi avx512_vbmi2 avx512_bitalg avx512_vpopcntdq
}

# guard_page_control <mistake> <file> <sed's command> [<features>...]: the unit tests, compiled with a mistake that the
# command makes in one line of an engine, of AVX2 or of these features, end by a segmentation fault.
guard_page_control() {
  local mistake=$1 file=$2 command=$3 copy=$lean-mistaken feature tests output num_changed status=0
  shift 3
  for feature in avx2 bmi1 bmi2 popcnt "$@"; do
    if ! grep -qw "$feature" /proc/cpuinfo; then
      left_out "the control in which $mistake, as this processor lacks $feature"
      return 0
    fi
  done
  rm -rf "$copy"
  cp -rP "$lean" "$copy"
  rm "$copy/src"
  cp -rL "$lean/src" "$copy/src"
  sed -i "$command" "$copy/$file"
  num_changed=$(diff "$lean/$file" "$copy/$file" | grep -c '^>') || true
  if [ "$num_changed" != 1 ]; then
    echo "$num_changed lines of $file are changed, not one: $command"
    return 1
  fi
  tests=$(
    lean=$copy
    # Of its own: cargo takes two copies of a package in one directory for the same.
    CARGO_TARGET_DIR=$PWD/target/mistaken lean cargo test --quiet -p filterblock --lib --no-run --message-format json |
      sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
  )
  output=$("$tests" --test-threads 1 guard_pages out_of_bounds 2>&1) || status=$?
  # 128 and the number of SIGSEGV.
  if [ "$status" != 139 ]; then
    echo "$output"
    echo "not noticed: $mistake (exit $status)"
    return 1
  fi
  echo "counted: 1 mistake made on purpose and noticed: $mistake"
}
