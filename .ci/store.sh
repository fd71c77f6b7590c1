# shellcheck shell=bash
# The store on a machine that is out of something: file descriptors, or room on the disk. The tool as users have it, and
# the system's own limits.

# store_tool: builds the tool, and sets `tool` to it and `work`, where the lane goes on, to a directory that is removed when
# its shell ends; neither is local to a function, which has ended by then.
store_tool() {
  lean cargo build --release --bin filterblock
  tool=$CARGO_TARGET_DIR/release/filterblock
  work=$(mktemp -d "$CARGO_TARGET_DIR/store.XXXXXX")
  trap 'cd / && if mountpoint -q "$work/disk"; then umount "$work/disk"; fi && rm -rf "$work"' EXIT
  cd "$work"
}

# expect <status> <command>...: the command ends with this status.
expect() {
  local expected=$1 status=0
  shift
  "$@" || status=$?
  [ "$status" = "$expected" ] || {
    echo "status $status, not $expected: $*"
    return 1
  }
}

# lines <number> <bytes>: as many cells, each of a row of its own and a value of this length, in no order of rows.
lines() {
  awk -v n="$1" -v bytes="$2" 'BEGIN {
    for (value = "x"; length(value) < bytes; value = value value);
    value = substr(value, 1, bytes)
    for (i = 0; i < n; i++) printf "row-%016d\tcolumn\t%s\n", i * 7919 % n, value }'
}

# cells: the number of cells of the store `db`.
cells() { "$tool" scan "$db" | wc -l; }

proves "2 GB under 64 descriptors" "that a store of more tables than descriptors is filled, searched, scanned, merged, verified"
descriptors_lane() {
  local db=db tables rows row
  store_tool
  ulimit -n 64
  # Values of 1 MiB; merged at the end, so that a merge reads more tables than the process has descriptors.
  lines 2000 1048576 | "$tool" fill db --sync never --merge
  tables=$(find db -name '*.sst' | wc -l)
  [ "$tables" -gt 100 ]
  mapfile -t rows < <("$tool" scan db | cut -c1-20)
  [ "${#rows[@]}" = 2000 ]
  for row in "${rows[@]:0:20}" "${rows[@]: -20}"; do [ "$("$tool" get db "$row" column | wc -c)" -ge 1048576 ]; done
  expect 1 "$tool" get db absent
  # Once more into all tables, and merged again.
  lines 100 2097152 | "$tool" fill db --sync never --merge
  [ "$(cells)" = 2000 ]
  "$tool" verify db | head -1
  echo "counted: a store of more than 100 tables and 2 GB, searched, merged and verified under 64 descriptors"
}

# small_disk <MiB>: mounts a file system of this size on `disk`.
small_disk() {
  [ "$(id -u)" = 0 ] || cannot "mounting a small file system needs root"
  mkdir disk
  truncate -s "$1M" image
  if mkfs.ext4 -q image 2>/dev/null && mount -o loop image disk 2>/dev/null; then
    echo "ext4 of $1 MiB"
  elif mount -t tmpfs -o "size=$1m" tmpfs disk 2>/dev/null; then
    left_out "a full ext4: no loop device here, so the full disk is a tmpfs"
  else
    cannot "no small file system can be mounted here"
  fi
}

# leave <KiB>: fills the small file system but for this much.
leave() {
  sync -f disk
  head -c "$((($(df --output=avail -k disk | tail -1) - $1) * 1024))" /dev/zero >disk/filler
  sync -f disk
}

# says <pattern>: the last command has written this to standard error.
says() {
  grep -qE "$1" errors && return
  echo "not said: $1"
  cat errors
  return 1
}

proves "a full disk" "that nothing acknowledged is lost on a full disk, that it can be read, and that it goes on when there is room"
full_disk_lane() {
  local db=disk/db acknowledged before table
  store_tool
  small_disk 64
  lines 5000 1000 | "$tool" fill $db --seed 1
  before=$(cells)
  [ "$before" = 5000 ]
  leave 24576
  # Until the store has only room for a compaction. The error has the bytes and the next step; what was acknowledged stays.
  awk 'BEGIN { for (i = 0; i < 900; i++) value = value "x"
               for (i = 1; i <= 9000; i++) printf "acknowledged-%05d\tcolumn\t%s\n", i, value }' >lines
  expect 4 "$tool" fill $db lines --ack 1 >acks 2>errors
  says 'compaction needs [0-9]+ bytes of the disk and [0-9]+ are free: free [0-9]+ more'
  says 'Resolve that, then run .filterblock verify disk/db.'
  cat errors
  acknowledged=$(sed -n 's/^ok //p' acks | tail -1)
  [ "${acknowledged:-0}" -gt 100 ]
  [ "$(cells)" -ge $((before + acknowledged)) ]
  "$tool" verify $db | head -1
  # It can still compact.
  "$tool" fill $db /dev/null --merge
  # Full to the last byte: it can be read, and takes no write.
  cat /dev/zero >>disk/filler 2>/dev/null || true
  printf 'row\tcolumn\tvalue\n' >line
  expect 4 "$tool" fill $db line 2>errors
  says 'compaction needs [0-9]+ bytes of the disk and 0 are free'
  [ "$(cells)" -ge $((before + acknowledged)) ]
  expect 0 "$tool" get $db "$(printf 'acknowledged-%05d' "$acknowledged")" column >value
  # A repair without room changes nothing.
  table=$(find $db -maxdepth 1 -name '*.sst' | sort | head -1)
  printf '\377' | dd of="$table" bs=1 seek=5000 conv=notrunc status=none
  expect 3 "$tool" repair $db >planned
  expect 4 "$tool" repair $db --apply 2>errors
  says 'No space left on device'
  expect 3 "$tool" repair $db >planned_again
  diff planned planned_again
  # With room it is repaired, and takes writes.
  rm disk/filler
  "$tool" repair $db --apply | tail -1
  "$tool" verify $db | head -1
  "$tool" fill $db line
  [ "$("$tool" get $db row column)" = value ]
  [ "$("$tool" scan $db --prefix acknowledged- | wc -l)" -ge "$acknowledged" ]
  echo "counted: a disk filled to its last byte; nothing lost that was acknowledged"
}
