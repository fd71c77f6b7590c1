# shellcheck shell=bash
# Debian packages of this and of other architectures, unpacked beside the system: nothing is installed, and the system
# need not know of a second architecture.

beside=$PWD/target/beside

# Options of apt: package lists of our own, of the tier's architectures, fetched once.
architectures=(amd64 s390x)
[ "$tier" = run ] || architectures+=(arm64 i386)
apt=(-qq -o APT::Sandbox::User=root -o "Dir::State::Lists=$beside/lists.$tier" -o "Dir::Cache=$beside/cache")
for architecture in "${architectures[@]}"; do apt+=(-o "APT::Architectures::=$architecture"); done

package_lists() {
  local fetched marker=$beside/fetched.$tier
  [ ! -e "$marker" ] || return 0
  command -v apt-get >/dev/null || cannot "no apt-get here"
  mkdir -p "$beside/lists.$tier/partial" "$beside/cache"
  # One list of many may fail; its packages are then missing. Without any list, the next run tries again.
  apt-get update "${apt[@]}" >/dev/null 2>&1 || true
  fetched=$(find "$beside/lists.$tier" -maxdepth 1 -name '*_Packages*')
  [ -z "$fetched" ] || touch "$marker"
}

# unpack <name> <package>...: once.
unpack() {
  local name=$1 deb
  shift
  [ ! -e "$beside/$name.unpacked" ] || return 0
  mkdir -p "$beside/$name"
  (cd "$beside/$name" && apt-get download "${apt[@]}" "$@") || cannot "no packages $* here"
  for deb in "$beside/$name"/*.deb; do dpkg -x "$deb" "$beside"; done
  rm -r "${beside:?}/$name"
  touch "$beside/$name.unpacked"
}

# The oldest compiler that Cargo.toml promises, for cargo to use.
msrv=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
oldest_compiler() {
  package_lists
  rustc_version=$(apt-cache "${apt[@]}" madison rustc-web 2>/dev/null |
    awk -F'|' -v msrv="$msrv." '{gsub(/ /, "", $2)} index($2, msrv) == 1 && !found {print $2; found = 1}')
  [ -n "$rustc_version" ] || cannot "no package of rustc $msrv here"
  unpack rustc "rustc-web=$rustc_version" "libstd-rust-web-dev=$rustc_version" \
    "libstd-rust-web-$msrv=$rustc_version" libllvm19
  export RUSTC=$beside/usr/bin/rustc LD_LIBRARY_PATH=$beside/usr/lib/x86_64-linux-gnu
  "$RUSTC" --version | grep -F "$msrv" || cannot "rustc $msrv does not run here"
}

# cross_compiler <Debian's name of an architecture> <the C compiler's>: standard library, C library and linker, and an
# emulator, each where the system lacks it.
cross_compiler() {
  local tools
  oldest_compiler
  if [ ! -e "$beside/$1.unpacked" ]; then
    # With what they depend on.
    tools=$(apt-get install --simulate --no-install-recommends "${apt[@]}" \
      "gcc-$2-linux-gnu" "libc6-dev-$1-cross" qemu-user | awk '/^Inst/ {print $2}') ||
      cannot "no packages of a compiler and an emulator for $1 here"
    # shellcheck disable=SC2086
    unpack "$1" "libstd-rust-web-dev:$1=$rustc_version" $tools
  fi
  export PATH=$PATH:$beside/usr/bin
}
