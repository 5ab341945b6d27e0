#!/bin/sh
# Builds the container image of the commit that is checked out, as cairn, with its version.
#
#   deploy/image.sh [ARGUMENT OF docker build…]
#   CONTAINER=podman deploy/image.sh
set -eu
cd "$(dirname "$0")/.."
dirty=
[ -z "$(git status --porcelain --untracked-files=no)" ] || dirty=+dirty
exec "${CONTAINER:-docker}" build -f deploy/Containerfile -t cairn \
  --build-arg VERSION="$(git describe --tags --always)$dirty" \
  --build-arg COMMIT="$(git rev-parse HEAD)" \
  --build-arg DATE="$(TZ=UTC0 git show -s --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)" \
  "$@" .
