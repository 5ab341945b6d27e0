#!/usr/bin/env bash
# Makes the archive of a program, and for Linux the Debian package; deploy/release.sh calls it. Equal input makes equal files.
#
#   SOURCE_DATE_EPOCH=SECONDS deploy/package.sh PROGRAM PAGES LICENSES VERSION OS/ARCH OUT
#
# PAGES is what TestPages writes: man pages and completions. The files go to the folder OUT. QUICK=1 compresses little.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
program=$1 pages=$2 licenses=$3 version=$4 os=${5%/*} arch=${5#*/} out=$6
: "${SOURCE_DATE_EPOCH:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
level=9 compression=(-Zxz)
if [ -n "${QUICK:-}" ]; then
  level=1 compression=(-Zgzip -z1)
fi
export DPKG_DEB_THREADS_MAX=1 # the number of threads would show in the package

# put copies files, whatever rights the umask has left them.
put() { install -m 644 "$@"; }

archive() {
  local name=cairn-$version-$os-$arch tree tar
  tree=$work/$name
  tar=$(command -v gtar || command -v tar)
  mkdir -p "$tree"/man/man1 "$tree"/completions/{bash,zsh,fish}
  install -m 755 "$program" "$tree/cairn"
  put "$pages"/man/*.1 "$tree/man/man1"
  put "$pages/bash/cairn" "$tree/completions/bash"
  put "$pages/zsh/_cairn" "$tree/completions/zsh"
  put "$pages/fish/cairn.fish" "$tree/completions/fish"
  put "$source"/{LICENSE,README.md,config.toml} "$licenses" "$tree"
  [ "$os" != linux ] || put "$source/deploy/cairn.service" "$tree"
  "$tar" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu \
    -C "$work" -cf - "$name" | gzip -n"$level" >"$out/$name.tar.gz"
}

# debian_version makes v1.2.0 1.2.0, v1.2.0-rc.1 1.2.0~rc.1, which is older, v1.2.0-4-gabc 1.2.0+4.gabc, which is newer, and a
# commit without a tag 0~TIME.COMMIT.
debian_version() {
  case $version in
    v[0-9]*) sed -E 's/^v//; s/-([0-9]+)-(g[0-9a-f]+)$/+\1.\2/; s/-/~/g' <<<"$version" ;;
    *) echo "0~$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).$version" ;;
  esac
}

# homepage prints where the module is published, if its path is an address.
homepage() {
  local module
  module=$(sed -n 's/^module //p' "$source/go.mod")
  [[ ${module%%/*} != *.* ]] || echo "Homepage: https://$module"
}

debian() {
  local tree=$work/debian numbered maintainer
  numbered=$(debian_version)
  maintainer=$(git -C "$source" log -1 --format='%cn <%ce>')
  mkdir -p "$tree"/{DEBIAN,etc/cairn,usr/bin,usr/lib/systemd/system,usr/lib/sysusers.d,usr/share/{man/man1,doc/cairn,lintian/overrides}} \
    "$tree"/usr/share/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
  install -m 755 "$program" "$tree/usr/bin/cairn"
  put "$pages"/man/*.1 "$tree/usr/share/man/man1/"
  put "$pages/bash/cairn" "$tree/usr/share/bash-completion/completions/"
  put "$pages/zsh/_cairn" "$tree/usr/share/zsh/vendor-completions/"
  put "$pages/fish/cairn.fish" "$tree/usr/share/fish/vendor_completions.d/"
  put "$source/config.toml" "$tree/etc/cairn/"
  # The package has a user of its own, so that `sudo -u cairn cairn …` reads the data.
  sed 's#/usr/local/bin/#/usr/bin/#; s#^DynamicUser=yes$#User=cairn#' "$source/deploy/cairn.service" >"$tree/usr/lib/systemd/system/cairn.service"
  put "$source/deploy/debian/sysusers.conf" "$tree/usr/lib/sysusers.d/cairn.conf"
  put "$source/deploy/debian/lintian" "$tree/usr/share/lintian/overrides/cairn"
  put "$source/README.md" "$tree/usr/share/doc/cairn/"
  put "$licenses" "$tree/usr/share/doc/cairn/LICENSES.txt"
  {
    cat "$source/LICENSE"
    printf '\nThe program contains libraries. Their licenses are in LICENSES.txt.gz beside this file;\nthe Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0, too.\n'
  } >"$tree/usr/share/doc/cairn/copyright"
  printf 'cairn (%s) stable; urgency=medium\n\n  * CHANGELOG.md of the project lists the changes.\n\n -- %s  %s\n' \
    "$numbered" "$maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" >"$tree/usr/share/doc/cairn/changelog"
  gzip -9n "$tree"/usr/share/man/man1/*.1 "$tree"/usr/share/doc/cairn/{changelog,LICENSES.txt}
  install -m 755 "$source"/deploy/debian/{postinst,prerm,postrm} "$tree/DEBIAN/"
  echo /etc/cairn/config.toml >"$tree/DEBIAN/conffiles"
  (cd "$tree" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
  cat >"$tree/DEBIAN/control" <<END
Package: cairn
Version: $numbered
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(find "$tree" -type f -printf '%s\n' | awk '{ total += int(($1 + 1023) / 1024) } END { print total }')
Depends: ca-certificates, procps, systemd | systemd-standalone-sysusers | systemd-sysusers
Suggests: poppler-utils
Section: net
Priority: optional
$(homepage)
Description: chat bot for Discord, Slack and the terminal
 Its conversations never end: when one fills the model's context window, the
 oldest messages become summaries, and facts become memories. The database keeps
 every message.
END
  sed -i '/^$/d' "$tree/DEBIAN/control"
  dpkg-deb --root-owner-group "${compression[@]}" --build "$tree" "$out/cairn_${numbered}_$arch.deb" >/dev/null
}

archive
if [ "$os" = linux ] && command -v dpkg-deb >/dev/null; then
  debian
fi
