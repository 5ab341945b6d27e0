package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"cairn/testkit/check"
)

var pagesDir = flag.String("pages", "", "write the man pages and completions to this folder, with the date SOURCE_DATE_EPOCH")

// TestPages writes the man pages, and the scripts with which shells complete commands; deploy/release.sh puts them into a release.
// It is a test, because cobra's generator brings a parser of Markdown, which the program does not need.
func TestPages(t *testing.T) {
	dir := *pagesDir
	if dir == "" {
		dir = t.TempDir()
		t.Setenv("SOURCE_DATE_EPOCH", "0")
	}
	seconds := check.Must(strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64))(t)
	t.Setenv("USER", "") // a flag's default must not depend on who runs this
	root := newRoot(&app{})
	for _, sub := range []string{"man", "bash", "zsh", "fish"} {
		check.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	check.NoError(t, root.GenBashCompletionFileV2(filepath.Join(dir, "bash", "cairn"), true))
	check.NoError(t, root.GenZshCompletionFile(filepath.Join(dir, "zsh", "_cairn")))
	check.NoError(t, root.GenFishCompletionFile(filepath.Join(dir, "fish", "cairn.fish"), true))
	pages := manPages(t, root, filepath.Join(dir, "man"), time.Unix(seconds, 0).UTC())

	all := visible(root)
	check.Len(t, "man pages", pages, len(all))
	for _, cmd := range all {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		text := read(t, filepath.Join(dir, "man", name+".1"))
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { check.Contains(t, name, text, `\fB--`+f.Name) })
	}
	silent(t, "groff", append([]string{"-k", "-Tutf8", "-man", "-ww", "-z"}, pages...)...)
	silent(t, "mandoc", append([]string{"-Tlint", "-Wwarning"}, pages...)...)
	silent(t, "bash", "-n", filepath.Join(dir, "bash", "cairn"))
	silent(t, "zsh", "-n", filepath.Join(dir, "zsh", "_cairn"))
	silent(t, "fish", "-n", filepath.Join(dir, "fish", "cairn.fish"))
}

// visible returns the commands that help shows, without help and completion.
func visible(cmd *cobra.Command) (all []*cobra.Command) {
	all = append(all, cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			all = append(all, visible(sub)...)
		}
	}
	return all
}

// cobrasOption matches an option as cobra writes it, with a tab in the text; a list is the form of man pages.
var cobrasOption = regexp.MustCompile(`(?m)^(?:\.PP\n)?(\\fB-.*)\n\t`)

// manPages writes the man pages of a command and those below it, and returns their files.
func manPages(t *testing.T, root *cobra.Command, dir string, at time.Time) []string {
	for _, cmd := range visible(root) {
		cmd.DisableAutoGenTag = true
		cmd.Long = indentedAsCode(cmd.Long)
	}
	check.NoError(t, doc.GenManTreeFromOpts(root, doc.GenManTreeOptions{
		Path: dir, CommandSeparator: "-", Header: &doc.GenManHeader{Section: "1", Date: &at, Source: "Cairn", Manual: "Cairn"},
	}))
	pages := check.Must(filepath.Glob(filepath.Join(dir, "*.1")))(t)
	for _, page := range pages {
		text := cobrasOption.ReplaceAllString(read(t, page), ".TP\n$1\n")
		text = strings.Replace(text, at.Format("Jan 2006"), at.Format(time.DateOnly), 1)
		text = strings.Replace(text, "\n.SH NAME", "\n.ad l\n.nh\n.SH NAME", 1) // lines with long words cannot be adjusted
		check.NoError(t, os.WriteFile(page, []byte(text), 0o644))
	}
	return pages
}

// indentedAsCode returns a help text in Markdown: the indented lines are a table, which must not be filled.
func indentedAsCode(help string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(strings.TrimSuffix(help, "\n") + "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != code {
			code = indented
			b.WriteString("```\n")
		}
		b.WriteString(line)
	}
	if code {
		b.WriteString("```\n")
	}
	return b.String()
}

// silent wants a program to find nothing wrong, and to print nothing; where it is missing, nothing is checked.
func silent(t *testing.T, program string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Logf("%s is missing", program)
		return
	}
	out, err := exec.Command(program, args...).CombinedOutput()
	check.That(t, err == nil && len(out) == 0, "%s: %v\n%s", program, err, out)
}
