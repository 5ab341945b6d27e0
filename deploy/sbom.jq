# The bill of materials of a program of cairn, in CycloneDX 1.5 (cyclonedx.org/docs/1.5/json), made
# from what the program itself says it was built of:
#
#   go version -m -json PROGRAM | jq -f deploy/sbom.jq --arg sqlite VERSION
#
# It has neither time nor serial number, so that equal builds have equal bills.

# A "+" is encoded in a package URL (github.com/package-url/purl-spec).
def purl: "pkg:golang/" + (.Path | ascii_downcase) + "@" + (.Version | gsub("\\+"; "%2B"));

def properties(list): if list == [] then {} else {properties: list} end;

def library:
  {type: "library", "bom-ref": purl, name: .Path, version: .Version, purl: purl}
  + properties([.Sum // empty | {name: "go:sum", value: .}]);

if .Path | endswith("/cmd/cairn") | not then error("this is not cairn but \(.Path)") else . end
| if $sqlite == "" then error("the version of SQLite is unknown") else . end
| {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      component: (
        {type: "application", "bom-ref": (.Main | purl), name: .Main.Path, version: .Main.Version} # in no registry: no purl
        + properties([
            .Settings[]
            | select(.Key | IN("GOOS", "GOARCH", "CGO_ENABLED", "vcs.revision", "vcs.modified"))
            | {name: "go:build:\(.Key)", value: .Value}
          ])
      )
    },
    components: (
      [
        ({Path: "std", Version: (.GoVersion | ltrimstr("go"))} | library),
        {type: "library", "bom-ref": "sqlite", name: "sqlite", version: $sqlite, purl: "pkg:generic/sqlite@\($sqlite)"} # its C code is in go-sqlite3
      ]
      + [.Deps[] | (.Replace // .) | library]
    )
  }
