package main

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"cairn/testkit/check"
)

func TestVersion(t *testing.T) {
	hash := "0123456789abcdef0123456789abcdef01234567"
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: hash}, {Key: "vcs.time", Value: "2026-12-01T10:00:00Z"}, {Key: "vcs.modified", Value: "true"}}
	for what, test := range map[string]struct {
		stamped  build
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		"a release":             {version: "v1.2.0", settings: vcs[:2], want: "cairn v1.2.0, commit " + hash + " of 2026-12-01T10:00:00Z"},
		"a changed checkout":    {version: "v1.2.0+dirty", settings: vcs, want: "cairn v1.2.0+dirty, commit " + hash + " of 2026-12-01T10:00:00Z with changes"},
		"an image":              {stamped: build{Version: "v1.2.0", Commit: hash, Date: "2026-12-01T10:00:00Z"}, version: "(devel)", want: "cairn v1.2.0, commit " + hash + " of 2026-12-01T10:00:00Z"},
		"go install @COMMIT":    {version: "v1.2.1-0.20261201100000-0123456789ab", want: "cairn v1.2.1-0.20261201100000-0123456789ab, commit 0123456789ab of 2026-12-01T10:00:00Z"},
		"go install @v1.2.0":    {version: "v1.2.0", want: "cairn v1.2.0, commit unknown"},
		"a source without both": {version: "(devel)", want: "cairn (devel), commit unknown"},
	} {
		got := test.stamped.withInfo(&debug.BuildInfo{Main: debug.Module{Version: test.version}, Settings: test.settings})
		check.HasPrefix(t, what, got.String(), test.want+" (")
	}
}

// TestVersionOfACheckout runs a program that records no commit.
func TestVersionOfACheckout(t *testing.T) {
	commit, err := exec.Command("git", "-C", checkout, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Skip("the sources are not in a repository")
	}
	var got build
	check.NoError(t, json.Unmarshal([]byte(newFolder(t).must("", "version", "--json")), &got))
	check.Equal(t, "commit", got.Commit, strings.TrimSpace(string(commit)))
	check.That(t, regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`).MatchString(got.Date), "got the date %q", got.Date)
	outside := build{Version: "(devel)"}.withCheckout(t.TempDir())
	check.Equal(t, "a folder without a repository", outside, build{Version: "(devel)"})
}

// TestImageHasAVersion compares what the container file sets with what the program reads.
func TestImageHasAVersion(t *testing.T) {
	file := read(t, checkout+"/deploy/Containerfile")
	source := read(t, checkout+"/cmd/cairn/version.go")
	for variable, arg := range map[string]string{"builtVersion": "VERSION", "builtCommit": "COMMIT", "builtDate": "DATE"} {
		check.Contains(t, "the container file", file, "-X main."+variable+"=${"+arg+"}", "\nARG "+arg+"\n")
		check.That(t, regexp.MustCompile(`(?m)^var .*\b`+variable+`\b.* string$`).MatchString(source), "the program has no variable %s", variable)
	}
}
