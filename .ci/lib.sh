# shellcheck shell=bash
# Lanes: each runs in a shell of its own, is timed, keeps its log, and has its tests counted. Some run beside the others;
# what they say is shown when they have ended.

logs=$PWD/target/ci
rm -rf "$logs"
mkdir -p "$logs"
lanes=0 chain='' background=''

# lane <name> <command>...: the command ends with 0, or with `cannot`; anything else ends the run.
lane() {
  local name=$1 lane status
  shift
  [[ $name == *"$only"* ]] || return 0
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

timed() {
  local begun=$SECONDS status
  times >"$logs/$lane.times"
  set +e
  (
    set -e
    "$@"
  )
  status=$?
  set -e
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

# Ends a lane that this machine cannot have.
cannot() {
  echo "$*" >"$logs/$lane.reason"
  echo "== SKIPPED: $(cat "$logs/$lane.name"): $*" >&2
  exit 3
}

# The package without its benchmarks: criterion would be a third of what a lane compiles for its tests. Made once, before any
# lane, as those beside the others read it too.
lean=$PWD/target/without-benches
make_lean() {
  local entry
  mkdir -p "$lean"
  for entry in *; do
    case $entry in
      target | Cargo.*) ;;
      *) ln -sfn "$PWD/$entry" "$lean/$entry" ;;
    esac
  done
  awk '/^\[/ {bench = /^\[\[bench\]\]/} !bench && !/^criterion = /' Cargo.toml >"$lean/Cargo.toml"
  printf '\n[workspace]\n' >>"$lean/Cargo.toml"
  cargo fetch
  cp Cargo.lock "$lean/"
  cargo fetch --manifest-path "$lean/Cargo.toml"
}

# lean <command>...: on the package without its benchmarks.
lean() {
  export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
  cd "$lean" || return
  "$@"
}

# beside_the_others <function>: its lanes run one after the other, beside those that follow here.
beside_the_others() {
  # A group of its own, so that it can be ended with all that it has started.
  set -m
  (
    chain=b lanes=0
    "$1"
  ) &
  background=$!
  set +m
  trap 'kill -- "-$background" 2>/dev/null || true' EXIT
}

# Shows what ended beside the others since, and ends the run if it failed.
show_ended() {
  local end status
  for end in "$logs"/b*.end; do
    if [ ! -e "$end" ] || [ -e "${end%.end}.shown" ]; then continue; fi
    touch "${end%.end}.shown"
    header "$(cat "${end%.end}.name"), beside the others"
    cat "${end%.end}.log"
    read -r status _ <"$end"
    [ "$status" = 0 ] || [ -e "${end%.end}.reason" ] || failed "$(cat "${end%.end}.name")" "$status"
  done
}

# Waits for what runs beside the others.
join_the_others() {
  local status=0
  [ -n "$background" ] || return 0
  wait "$background" || status=$?
  trap - EXIT
  show_ended
  [ "$status" = 0 ] || failed "what ran beside the others" "$status"
}

# documented_counts <document>: what it gives as printed by a lane was printed by that lane, where this machine has it. The lane
# is named where the text begins: ```text lane: <the beginning of its name>
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
          echo "$1 names a lane that is none: $of"
          return 1
        elif [ -e "$log.reason" ]; then
          excused=$((excused + 1))
        elif grep -aqF -- "$line" "$log.log"; then
          found=$((found + 1))
        else
          missing=$((missing + 1))
          echo "$of has not printed what $1 says: ${line#counted: }"
        fi
        ;;
    esac
  done <"$1"
  echo "counted: $found counts that $1 gives were printed, $missing were not, $excused are of lanes that are missing here"
  [ "$missing" = 0 ] && [ "$found" -gt 0 ]
}

# What ran, how many tests, how long it took; what did not run, and why; what the tests have counted.
summary() {
  local end name seconds counts
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
    printf 'ran: %s (%s%d s, %d s of processors)\n' "$name" "$counts" "$seconds" "$(processor_time "${end%.end}.times")"
    sed -n 's/^.*\(counted: .*\)$/     \1/p' "${end%.end}.log"
  done
  for end in "$logs"/*.reason; do
    [ ! -e "$end" ] || printf 'SKIPPED: %s: %s\n' "$(cat "${end%.reason}.name")" "$(cat "$end")"
  done
  [ -z "$only" ] || echo "only the lanes with \"$only\" in their names"
  echo "all lanes that ran have passed, in $SECONDS s"
}
