#!/usr/bin/env bash
# Installs, upgrades, removes and purges a Debian package in a root folder of its own, and looks at what each step leaves.
# It needs root and debootstrap, and takes a minute.
#
#   deploy/try-package.sh PACKAGE.deb [BASE]     BASE: a root folder with systemd, ca-certificates and procps, which is copied;
#                                                default: debootstrap makes one
set -euo pipefail
package=$(realpath "${1:?which package?}")
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
if [ -n "${2:-}" ]; then
  cp -a --one-file-system "$2" "$root"
else
  env -u TMPDIR debootstrap --variant=minbase --include=systemd,ca-certificates,procps bookworm "$root" >"$work/said" || { cat "$work/said"; exit 1; }
fi

step() { printf '== %s\n' "$*"; }
fail() { echo "try-package.sh: $*" >&2; exit 1; }
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@" </dev/null; }
status() { inside dpkg-query -W -f '${db:Status-Status}' cairn 2>/dev/null || true; }
listing() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache \) -prune -o -print | LC_ALL=C sort); }

cp "$package" "$root/tmp/cairn.deb"
# The same content with a higher version, to upgrade to, and other settings, as a newer release may have.
dpkg-deb -R "$package" "$root/tmp/newer"
sed -i 's/^Version: .*/&+newer/' "$root/tmp/newer/DEBIAN/control"
echo '# newer' >>"$root/tmp/newer/etc/cairn/config.toml"
dpkg-deb --root-owner-group -Zgzip -z1 --build "$root/tmp/newer" "$root/tmp/newer.deb" >/dev/null
rm -r "$root/tmp/newer"
listing >"$work/before"

step install
inside dpkg -i /tmp/cairn.deb
[ "$(status)" = installed ] || fail "it is not installed"
inside getent passwd cairn || fail "there is no user cairn"
inside cairn version
inside dpkg --verify cairn
[ ! -e "$root/etc/systemd/system/multi-user.target.wants/cairn.service" ] || fail "a bot without tokens starts with the machine"

step "verify the unit"
unit=$(inside systemd-analyze verify --man=no /usr/lib/systemd/system/cairn.service 2>&1) || fail "$unit"
[ -z "$unit" ] || fail "$unit"

step "use it"
mkdir -p "$root/var/lib/cairn"
inside chown cairn: /var/lib/cairn
inside setpriv --reuid cairn --regid cairn --clear-groups sh -c 'echo hello | cairn chat --config /etc/cairn/config.toml --data /var/lib/cairn' >/dev/null
echo 'DISCORD_TOKEN=x' >"$root/etc/cairn/secrets.env"
sed -i "1i# ours" "$root/etc/cairn/config.toml"
inside systemctl --quiet enable cairn.service
kept=$(cat "$root/etc/cairn/config.toml" "$root/etc/cairn/secrets.env" "$root/var/lib/cairn/cairn.db" | sha256sum)
unchanged() { [ "$kept" = "$(cat "$root/etc/cairn/config.toml" "$root/etc/cairn/secrets.env" "$root/var/lib/cairn/cairn.db" | sha256sum)" ] || fail "$1 changed the settings or the data"; }

step upgrade
inside dpkg --force-confold -i /tmp/newer.deb
unchanged "the upgrade"
[ -e "$root/etc/cairn/config.toml.dpkg-dist" ] || fail "the new settings are not beside the old ones"

step remove
inside dpkg -r cairn
[ "$(status)" = config-files ] || fail "it is $(status)"
unchanged "the removal"
[ ! -e "$root/usr/bin/cairn" ] || fail "the program stays"
[ ! -L "$root/etc/systemd/system/multi-user.target.wants/cairn.service" ] || fail "systemd still wants to start it"

step "install again, and purge"
inside dpkg --force-confold -i /tmp/cairn.deb
unchanged "the second installation"
inside dpkg -P cairn
case $(status) in "" | not-installed) ;; *) fail "it is $(status)" ;; esac
[ -s "$root/var/lib/cairn/cairn.db" ] || fail "purge deleted the conversations"

step "what is left"
listing | diff "$work/before" - | grep '^[<>]' || true
