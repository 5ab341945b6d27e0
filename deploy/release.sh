#!/usr/bin/env bash
# Builds the release of the commit that is checked out, into dist/: a program for each platform,
# its bill of materials (CycloneDX), an archive, for Linux a Debian package, the licenses of what is
# linked in, and checksums. docs/releasing.md says more.
#
#   deploy/release.sh [--quick] [OS/ARCH…]     default: all platforms this machine can build
#
# Everything is built twice, from two clones at different paths, and must be equal byte by byte;
# the second time with an empty build cache, with --quick with the shared one. --quick builds for
# this machine's platform alone and leaves nothing behind.
#
# jq writes the bills, by deploy/sbom.jq, and deploy/package.sh makes archives and packages.
#
# SQLite is C: Linux needs a C compiler for each architecture, macOS needs a Mac. The programs for
# Linux are static; glibc is LGPL, and this script is how to link them anew.
set -euo pipefail
cd "$(dirname "$0")/.."

all=(linux/amd64 linux/arm64 darwin/arm64 darwin/amd64)
quick=
[ "${1:-}" != --quick ] || { quick=1; shift; }
here=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
targets=("$@")
[ "$#" -gt 0 ] || targets=("${all[@]}")
[ -z "$quick" ] || targets=("$here")

fail() { echo "release.sh: $*" >&2; exit 1; }

command -v jq >/dev/null || fail "it needs jq, which writes the bills of materials (Debian: apt-get install jq)"

# compiler prints the C compiler for a platform, or fails and says what is missing.
compiler() {
  local cross
  case $1 in
    linux/amd64) cross=x86_64-linux-gnu-gcc ;;
    linux/arm64) cross=aarch64-linux-gnu-gcc ;;
    darwin/arm64) cross="clang -arch arm64" ;;
    darwin/amd64) cross="clang -arch x86_64" ;;
    *) fail "there is no platform $1: there are ${all[*]}" ;;
  esac
  case $1 in
    "$here") echo "${CC:-cc}" ;;
    darwin/*) [ "$(go env GOHOSTOS)" = darwin ] && echo "$cross" || { echo "it needs Apple's SDK: run this script on a Mac" >&2; return 1; } ;;
    *) command -v "$cross" || { echo "it needs $cross (Debian: apt-get install ${cross%-gcc}; the package is gcc-${cross%-gcc})" >&2; return 1; } ;;
  esac
}

static=(-tags netgo,osusergo,sqlite_omit_load_extension)

# build SOURCE OUT OS/ARCH CC VERSION
build() {
  local flags=(-trimpath -buildvcs=true) link="-s -w -buildid="
  if [ "${3%/*}" = linux ]; then
    flags+=("${static[@]}")
    link+=" -linkmode external -extldflags -static"
  fi
  (cd "$1" && env CGO_ENABLED=1 GOFLAGS= GOWORK=off GOOS="${3%/*}" GOARCH="${3#*/}" CC="$4" \
    go build "${flags[@]}" -ldflags "$link" -o "$2/cairn-$5-${3/\//-}" ./cmd/cairn)
}

# bill SOURCE PROGRAM: what the program was built of, and the SQLite that go-sqlite3 has in it.
bill() {
  local sqlite
  cd "$1"
  sqlite=$(sed -n 's/^#define SQLITE_VERSION  *"\(.*\)"$/\1/p' "$(go list -m -f '{{.Dir}}' github.com/mattn/go-sqlite3)/sqlite3-binding.h")
  go version -m -json "$2" | jq -f deploy/sbom.jq --arg sqlite "$sqlite"
}

# licenses SOURCE: the licenses of all modules that are linked in, and of Go.
licenses() {
  cd "$1"
  echo "cairn"; cat LICENSE
  printf '\n---- Go %s\n\n' "$(go env GOVERSION)"; cat "$(go env GOROOT)/LICENSE"
  go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/cairn | LC_ALL=C sort -u |
    while read -r module version dir; do
      printf '\n---- %s %s\n\n' "$module" "$version"
      find "$dir" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) | LC_ALL=C sort | xargs cat ||
        { echo "$module has no license" >&2; exit 1; }
    done
}

# writer SOURCE FILE: the test that writes man pages and completions. It is built as the program of
# Linux is, so that most of it is built already.
writer() {
  (cd "$1" && env CGO_ENABLED=1 GOFLAGS= GOWORK=off go test -c -vet=off -trimpath "${static[@]}" -ldflags "-s -w" -o "$2" ./cmd/cairn)
}

# write_pages SOURCE WRITER OUT
write_pages() {
  mkdir "$3"
  (cd "$1/cmd/cairn" && "$2" -test.run '^TestPages$' -pages "$3" >"$3.said" 2>&1) || { cat "$3.said" >&2; fail "no man pages"; }
}

sums() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "release.sh: changes that are not committed are not part of the release" >&2
commit=$(git rev-parse HEAD)
version=$(git describe --tags --always)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH QUICK=$quick
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
for n in first second/longer; do
  mkdir -p "$work/$n/out"
  git clone --quiet --no-hardlinks . "$work/$n/source"
  git -C "$work/$n/source" checkout --quiet "$commit"
done

built=() missing=()
for target in "${targets[@]}"; do
  if ! cc=$(compiler "$target" 2>"$work/why"); then
    missing+=("$target: $(cat "$work/why")")
    continue
  fi
  echo "building $target with $cc, twice"
  build "$work/first/source" "$work/first/out" "$target" "$cc" "$version"
  (
    [ -n "$quick" ] || export GOCACHE="$work/cache"
    build "$work/second/longer/source" "$work/second/longer/out" "$target" "$cc" "$version"
  )
  built+=("$target")
done
[ "${#built[@]}" -gt 0 ] || fail "nothing can be built here: ${missing[*]}"
command -v dpkg-deb >/dev/null || missing+=("Debian packages: they need dpkg-deb")
writer "$work/first/source" "$work/writer"

for n in first second/longer; do
  out=$work/$n/out
  for target in "${built[@]}"; do
    program=$out/cairn-$version-${target/\//-}
    (bill "$work/$n/source" "$program") >"$program.cdx.json"
    if command -v readelf >/dev/null && [ "${target%/*}" = linux ] && readelf -l "$program" | grep -q INTERP; then
      fail "$program is not static"
    fi
  done
  (licenses "$work/$n/source") >"$out/LICENSES.txt"
  write_pages "$work/$n/source" "$work/writer" "$work/$n/pages"
  for target in "${built[@]}"; do
    "$work/$n/source/deploy/package.sh" "$out/cairn-$version-${target/\//-}" "$work/$n/pages" "$out/LICENSES.txt" "$version" "$target" "$out"
  done
  (cd "$out" && sums -- * >SHA256SUMS)
done
diff -r "$work/first/out" "$work/second/longer/out" || fail "two builds of $commit differ"

if program=$work/first/out/cairn-$version-${here/\//-} && [ -x "$program" ]; then
  "$program" version | tee "$work/said"
  grep -q "${commit:0:12}" "$work/said" || fail "it does not know its commit"
fi
cat "$work/first/out/SHA256SUMS"
if [ -z "$quick" ]; then
  rm -rf dist
  mv "$work/first/out" dist
  echo "in dist/, equal in two builds: ${built[*]}"
else
  echo "equal in two builds: ${built[*]}"
fi
for why in ${missing[@]+"${missing[@]}"}; do
  echo "NOT BUILT $why"
done
