# shellcheck shell=bash
# Reads out of bounds, by pages that cannot be read: AddressSanitizer does not check assembly. Such
# mistakes, made on purpose, must end the tests.

proves "reads out of bounds" "no read past a page that cannot be read, in assembly as well"
guard_pages_lane() {
  lean cargo test --features std --lib --test guard_pages -- --nocapture guard_pages out_of_bounds
  guard_page_control line "avx2 bmi1 bmi2 popcnt" blocked
  guard_page_control columns "avx2 bmi1 bmi2 popcnt" ribbon
}

# guard_page_control <mistake> <the features of the engine that makes it> <kind>: the unit tests, compiled with the
# mistake, end by a segmentation fault.
guard_page_control() {
  local mistake=$1 kind=$3 feature tests output status=0
  for feature in $2; do
    if ! grep -qw "$feature" /proc/cpuinfo; then
      left_out "the control that makes the mistake \"$mistake\" on purpose, as this processor lacks $feature"
      return 0
    fi
  done
  tests=$(lean cargo rustc --quiet --features std --lib --profile test --message-format json -- --cfg "filterblock_mistake=\"$mistake\"" |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
  output=$("$tests" --test-threads 1 "filter::$kind::guard_pages" 2>&1) || status=$?
  # 128 and the number of SIGSEGV.
  if [ "$status" != 139 ]; then
    echo "$output"
    echo "not noticed: a read out of bounds, \"$mistake\" (exit $status)"
    return 1
  fi
  echo "counted: 1 mistake made on purpose and noticed: a read out of bounds, \"$mistake\""
}
