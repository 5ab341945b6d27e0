#!/usr/bin/env bash
# Changes where the project is published: the module's path in go.mod, and with it every import. What else names the place is
# made from go.mod: the package's homepage, the programs' bills of materials. docs/releasing.md says more.
#
#   deploy/rename.sh example.org/you/cairn
set -euo pipefail
cd "$(dirname "$0")/.."

new=${1:?which path? such as example.org/you/cairn}
old=$(go list -m)
# An import begins with the path and one of the module's folders; other strings may begin with the same word.
folders=$(go list ./... | sed "s#^$old/##; s#/.*##" | sort -u | paste -sd '|')
go mod edit -module "$new"
find . -name '*.go' -exec sed -i.before -E "s#\"${old//./\\.}/((${folders})[/\"]|\")#\"$new/\\1#g" {} +
find . -name '*.go.before' -delete
go tool -modfile=.ci/go.mod gofumpt -w . # imports are in the order of their paths
echo "$old is now $new, in $(go list ./... | wc -l) packages"
