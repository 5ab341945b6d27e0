// cairn version: the version of the program, its commit, and the date of that.

package main

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// An image is built without the repository, from which Go reads what ReadBuildInfo returns: deploy/Containerfile sets
// these with -ldflags "-X main.builtVersion=…".
var builtVersion, builtCommit, builtDate string

// build is what a program was built from.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`   // empty: unknown
	Date     string `json:"date,omitempty"`     // of the commit; empty: unknown
	Modified bool   `json:"modified,omitempty"` // its sources differed from the commit
	Checkout string `json:"checkout,omitempty"` // the folder of the sources, where the program records no commit: Commit is that of the folder now
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func init() { cobra.AddTemplateFunc("built", func() string { return thisBuild().String() }) } // for --version

func newVersion(a *app) *cobra.Command {
	return a.withJSON("one JSON object", &cobra.Command{
		Use:   "version [--json]",
		Short: "Print the version, its commit and the commit's date",
		Long: `Print the version, its commit and the commit's date. A program that records no commit, like that of
"go run", prints the one that is checked out in the folder of its sources.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.show(a.out, thisBuild()) },
	})
}

// version returns the version of this program, which names the commit.
func version() string { return ofBuild().Version }

// thisBuild returns what this program was built from.
func thisBuild() build {
	b := ofBuild()
	if b.Commit != "" {
		return b
	}
	_, file, _, _ := runtime.Caller(0)
	if !filepath.IsAbs(file) { // -trimpath: it is not where it was built
		return b
	}
	return b.withCheckout(filepath.Dir(file))
}

// ofBuild returns what this program records about its build.
func ofBuild() build {
	b := build{Version: builtVersion, Commit: builtCommit, Date: builtDate, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if ok {
		b = b.withInfo(info)
	}
	b.Version = cmp.Or(b.Version, "(unknown)")
	return b
}

// pseudoVersion matches the end of the version that Go gives a commit without a tag: its time and the start of its hash.
var pseudoVersion = regexp.MustCompile(`[-.](\d{14})-([0-9a-f]{12})(\+dirty)?$`)

// withInfo adds to b what Go recorded.
func (b build) withInfo(info *debug.BuildInfo) build {
	b.Version = cmp.Or(b.Version, info.Main.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, s.Value)
		case "vcs.time":
			b.Date = cmp.Or(b.Date, s.Value)
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	parts := pseudoVersion.FindStringSubmatch(b.Version)
	if b.Commit != "" || parts == nil {
		return b
	}
	b.Commit = parts[2] // `go install` of a published module: it has no repository
	if at, err := time.Parse("20060102150405", parts[1]); err == nil {
		b.Date = at.Format(time.RFC3339)
	}
	return b
}

// withCheckout adds to b what git says about a folder of sources; nothing if that is not in a repository.
func (b build) withCheckout(folder string) build {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	git := func(args ...string) string {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, args...)...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	commit, at, found := strings.Cut(git("log", "-1", "--format=%H %ct"), " ")
	if !found {
		return b
	}
	b.Commit = commit
	if seconds, err := strconv.ParseInt(at, 10, 64); err == nil {
		b.Date = time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	}
	b.Modified = git("status", "--porcelain", "--untracked-files=no") != ""
	b.Checkout = git("rev-parse", "--show-toplevel")
	return b
}

func (b build) String() string {
	commit := "commit unknown"
	if b.Commit != "" {
		commit = fmt.Sprintf("commit %s of %s", b.Commit, cmp.Or(b.Date, "an unknown date"))
	}
	if b.Modified {
		commit += " with changes"
	}
	if b.Checkout != "" {
		commit += " in " + b.Checkout
	}
	return fmt.Sprintf("cairn %s, %s (%s, %s/%s)", b.Version, commit, b.Go, b.OS, b.Arch)
}
