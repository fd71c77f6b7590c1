# shellcheck shell=bash
# Lanes: each runs in a shell of its own and is timed, its log is kept and its tests are counted.
# Some run beside the others; their output is shown when they have ended. `.ci/run` and `.ci/full` set `tier`, `only` and
# `lane_minutes`, and list their lanes.

# These builds are not debugged. Release builds have cargo's own profile, without the optimisation between the parts of a
# crate that it does by default: it takes longer than it saves here.
export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0 RUST_BACKTRACE=1
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_RELEASE_LTO=off
# As the workspace has it; for the packages outside of it.
export CARGO_PROFILE_DEV_OPT_LEVEL=2 CARGO_PROFILE_DEV_CODEGEN_UNITS=1

logs=$PWD/target/ci
rm -rf "$logs"
mkdir -p "$logs"
lanes=0 chain='' background=()

# proves <lane> <what>: declares a lane of either tier.
declare -A proof=()
declared=()
proves() {
  declared+=("$1")
  proof[$1]=$2
}

# lane <name> <command>...: the command ends with 0, or with `cannot`; anything else ends the run.
lane() {
  local name=$1 lane status
  shift
  [ -n "${proof[$name]-}" ] || failed "$name" "not declared by \`proves\`"
  if [[ $name != *"$only"* ]]; then
    echo "$name" >>"$logs/passed-over"
    return
  fi
  lanes=$((lanes + 1))
  lane=$chain$(printf %02d "$lanes")
  if [ -n "$chain" ]; then
    echo "$name" >"$logs/$lane.name"
    timed "$@" >"$logs/$lane.log" 2>&1
  else
    show_ended
    echo "$name" >"$logs/$lane.name"
    header "$name"
    timed "$@" 2>&1 | tee "$logs/$lane.log"
  fi
  read -r status _ <"$logs/$lane.end"
  [ "$status" = 0 ] || [ -e "$logs/$lane.reason" ] || failed "$name" "$status"
}

header() { printf '\n== %s (%s)\n' "$1" "$(date +%T)"; }

failed() {
  [ -n "$chain" ] || echo "== FAILED: $1 (status $2)" >&2
  exit 1
}

# Runs a lane, in a process group of its own, so that it can be ended with all that it has started: when it takes longer
# than a lane may, or when the run is ended.
timed() {
  local begun=$SECONDS status=0 group
  times >"$logs/$lane.times"
  set -m
  (
    set -e
    "$@"
  ) </dev/null &
  group=$!
  set +m
  trap 'kill -- "-$group" 2>/dev/null || true' EXIT
  if ! timeout --foreground "${lane_minutes}m" tail --pid="$group" --sleep-interval=.2 -f /dev/null; then
    echo "$(cat "$logs/$lane.name"): ended after $lane_minutes minutes, which is as long as a lane may take"
    kill -- "-$group" || true
    sleep 5
    kill -KILL -- "-$group" 2>/dev/null || true
  fi
  wait "$group" || status=$?
  trap - EXIT
  times >>"$logs/$lane.times"
  echo "$status $((SECONDS - begun))" >"$logs/$lane.end"
}

# Processor time that a lane's programs took, in whole seconds.
processor_time() {
  awk '
    function seconds(text, parts) { split(text, parts, "m"); return parts[1] * 60 + parts[2] }
    NR % 2 == 0 { sum = -sum + seconds($1) + seconds($2) }
    END { printf "%d", sum }' "$1"
}

# without <what> <command>...: the command leaves something out, which the end of the run reports.
without() {
  left_out "$1"
  shift
  "$@"
}

left_out() { echo "left out: $*"; }

# Ends a lane that cannot run on this machine.
cannot() {
  echo "$*" >"$logs/$lane.reason"
  echo "== SKIPPED: $(cat "$logs/$lane.name"): $*" >&2
  exit 3
}

# The workspace without benchmarks, peers and other engines, whose crates are not fetched then. Made once, before any lane,
# as those beside the others read it too. In release builds, too, crates that no test waits for are not optimised.
lean=$PWD/target/without-benches
cold=(clap_builder clap_complete proptest regex-syntax)
make_lean() {
  local entry
  mkdir -p "$lean"
  for entry in *; do
    case $entry in
      target | Cargo.*) ;;
      *) ln -sfn "$PWD/$entry" "$lean/$entry" ;;
    esac
  done
  # In the short tier the fuzz targets are built with the tests; by themselves, other features would be compiled.
  awk -v tier="$tier" '/^\[/ {bench = /^\[\[bench\]\]/}
    /^default-members = / && tier == "run" {sub(/]$/, ", \"fuzz\"]")}
    /^members = / {print "members = [\"crates/*\", \"fuzz\", \"fuzz/portable\"]"; next}
    !bench' Cargo.toml >"$lean/Cargo.toml"
  printf '[profile.release.package.%s]\nopt-level = 0\n' "${cold[@]}" >>"$lean/Cargo.toml"
  cp Cargo.lock "$lean/"
  cargo fetch --manifest-path "$lean/Cargo.toml"
}

# lean <command>...: runs it in the workspace without benchmarks.
lean() {
  export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
  cd "$lean" || return
  "$@"
}

# beside_the_others <letter> <function>: its lanes, which have this letter before their numbers, run one after the other,
# beside those that follow here.
beside_the_others() {
  # A group of its own, so that it can be ended with all that it has started.
  set -m
  (
    chain=$1 lanes=0
    "$2"
  ) &
  background+=("$!")
  set +m
  trap 'kill -- "${background[@]/#/-}" 2>/dev/null || true' EXIT
}

# Shows the lanes that have ended beside the others since the last call, and ends the run if one failed.
show_ended() {
  local end status
  for end in "$logs"/[a-z]*.end; do
    if [ ! -e "$end" ] || [ -e "${end%.end}.shown" ]; then continue; fi
    touch "${end%.end}.shown"
    header "$(cat "${end%.end}.name"), beside the others"
    cat "${end%.end}.log"
    read -r status _ <"$end"
    [ "$status" = 0 ] || [ -e "${end%.end}.reason" ] || failed "$(cat "${end%.end}.name")" "$status"
  done
}

# Waits for the lanes beside the others.
join_the_others() {
  local group status=0
  for group in "${background[@]}"; do wait "$group" || status=$?; done
  trap - EXIT
  show_ended
  [ "$status" = 0 ] || failed "what ran beside the others" "$status"
}

proves "counts of TESTING.md" "that TESTING.md quotes what the lanes print"
# documented_counts <document>: every count that it quotes was printed by the lane that it names, unless that lane was
# skipped. A quotation begins with ```text lane: <the beginning of the lane's name>
documented_counts() {
  local line of='' name log found=0 missing=0 excused=0
  while IFS= read -r line; do
    case $line in
      '```text lane: '*)
        of=${line#*lane: } log=''
        for name in "$logs"/*.name; do [[ $(<"$name") != "$of"* ]] || log=${name%.name}; done
        ;;
      'counted: '*)
        if [ -z "$log" ]; then
          echo "$1 names a lane that does not exist: $of"
          return 1
        elif [ -e "$log.reason" ]; then
          excused=$((excused + 1))
        elif grep -aqF -- "$line" "$log.log"; then
          found=$((found + 1))
        else
          missing=$((missing + 1))
          echo "$1 quotes what the lane has not printed: $of: ${line#counted: }"
        fi
        ;;
    esac
  done <"$1"
  echo "counted: $found counts that $1 quotes were printed, $missing were not, $excused belong to skipped lanes"
  [ "$missing" = 0 ] && [ "$found" -gt 0 ]
}

# What ran, how many tests, how long it took; the counts that tests printed; what is left unproved.
summary() {
  local end name seconds counts spent total=0
  if ! compgen -G "$logs/*.name" >/dev/null; then
    echo "no lane of .ci/$tier has \"$only\" in its name; the lanes: $(paste -sd';' "$logs/passed-over" | sed 's/;/; /g')" >&2
    exit 2
  fi
  printf '\n'
  for end in "$logs"/*.end; do
    if [ ! -e "$end" ] || [ -e "${end%.end}.reason" ]; then continue; fi
    name=$(cat "${end%.end}.name")
    read -r _ seconds <"$end"
    counts=$(awk '
      /^test result: ok\./ { tests += $4; ignored += $8; out += $12 }
      END {
        if (tests) printf "%d tests, ", tests
        if (ignored) printf "%d ignored, ", ignored
        if (out) printf "%d filtered out, ", out
      }' "${end%.end}.log")
    spent=$(processor_time "${end%.end}.times")
    total=$((total + spent))
    printf 'ran: %s (%s%d s, %d s of processors)\n' "$name" "$counts" "$seconds" "$spent"
    sed -n 's/^.*\(counted: .*\)$/     \1/p' "${end%.end}.log"
  done
  unproved
  printf '\nall lanes that ran have passed, in %d s, with %d s of processor time\n' "$SECONDS" "$total"
}

# Lanes that did not run, and parts that lanes left out.
unproved() {
  local file name
  local -A begun=()
  printf '\n== NOT PROVED BY THIS RUN OF .ci/%s\n' "$tier"
  for file in "$logs"/*.name; do begun[$(cat "$file")]=${file%.name}; done
  for name in "${declared[@]}"; do
    file=${begun[$name]-}
    if [ -z "$file" ]; then
      [ -n "$only" ] || printf 'NOT IN THIS TIER: %s: %s\n' "$name" "${proof[$name]}"
    elif [ -e "$file.reason" ]; then
      printf 'SKIPPED: %s: %s: %s\n' "$name" "${proof[$name]}" "$(cat "$file.reason")"
    else
      sed -n 's/^left out: //p' "$file.log" | while IFS= read -r what; do echo "LEFT OUT: $name: $what"; done
    fi
  done
  [ -z "$only" ] || echo "NOT RUN: every lane without \"$only\" in its name"
  # The long tier has every lane.
  if [ "$tier$only" = full ] && [ "${#begun[@]}" -lt "${#declared[@]}" ]; then
    failed "lanes of .ci/full" "some declared lane is missing"
  fi
}

# Sourced, with the lanes that they declare.
. .ci/debian.sh
. .ci/foreign.sh
. .ci/native.sh
. .ci/guard_pages.sh
. .ci/store.sh

rustup component add rustfmt clippy >/dev/null 2>&1 || true
cargo --version && rustc --version
make_lean
