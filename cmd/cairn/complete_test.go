package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn/store"
	"cairn/testkit/check"
)

// completes asks the program, as a shell does, for what may follow args, of which the last may be unfinished. It wants these lines,
// and no error.
func (p folder) completes(args []string, want ...string) {
	p.t.Helper()
	cmd := p.command(append([]string{cobra.ShellCompRequestCmd}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &errs
	check.NoError(p.t, cmd.Run())
	what := "completions of " + strings.Join(args, " ")
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	check.EqualAll(p.t, what, lines[:len(lines)-1], want)
	check.HasPrefix(p.t, what+": the last line", lines[len(lines)-1], ":")
	check.HasPrefix(p.t, what+": standard error", errs.String(), "Completion ended with directive: ")
	check.Equal(p.t, what+": lines of standard error", strings.Count(errs.String(), "\n"), 1)
}

// files returns the names, sizes and times of the files in the folder.
func (p folder) files() (all string) {
	p.t.Helper()
	check.NoError(p.t, filepath.Walk(p.dir, func(name string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			all += fmt.Sprintln(name, info.Size(), info.Mode(), info.ModTime().UnixNano())
		}
		return err
	}))
	return all
}

// stocked is a folder with conversations and memories.
func stocked(t *testing.T) folder {
	p := newFolder(t)
	p.must("hello\n/remember I like plums\n/remember We meet\tat nine\n", "chat", "--channel", "garden")
	p.must("hello\n", "chat", "--channel", "attic")
	p.must("", "memories", "forget", "1")
	p.must("", "memories", "pin", "2")
	db := p.store()
	for _, name := range []string{"discord:9/20", "discord:@me/7", "slack:T1/C2"} {
		c := check.Must(db.Conversation(t.Context(), name))(t)
		check.Must(c.Inbox().Deliver(t.Context(), store.Inbound{ID: "1", AuthorID: "1", Author: "Ada", Text: "hello", Label: "#plaza\t·\n\x1b[31m$(id) Cozy"}))(t)
	}
	check.NoError(t, db.Close())
	return p
}

func TestCompletionsOfWhatIsStored(t *testing.T) {
	p := stocked(t)
	before := p.files()
	p.completes([]string{"chat", "--channel", ""}, "attic", "garden")
	p.completes([]string{"chat", "--channel=g"}, "garden")
	p.completes([]string{"ask", "--channel", "terminal:"}, "terminal:attic", "terminal:garden")
	label := "\t#plaza · [31m$(id) Cozy"
	p.completes([]string{"recall", "--channel", ""}, "attic", "garden", "discord:9/20"+label, "discord:@me/7"+label, "slack:T1/C2"+label)
	p.completes([]string{"config", "check", "--explain", "--channel", "disc"}, "discord:9/20"+label, "discord:@me/7"+label)
	p.completes([]string{"doctor", "--live", ""}, "discord:9/20"+label, "discord:@me/7"+label, "slack:T1/C2"+label)
	p.completes([]string{"purge", "--server", ""}, "discord:9", "discord:@me", "slack:T1")
	p.completes([]string{"memories", "show", ""}, "2\tWe meet at nine", "1\tI like plums")
	p.completes([]string{"memories", "forget", ""}, "2\tWe meet at nine")
	p.completes([]string{"memories", "restore", ""}, "1\tI like plums")
	p.completes([]string{"memories", "unpin", ""}, "2\tWe meet at nine")
	p.completes([]string{"memories", "pin", ""})
	p.completes([]string{"memories", "show", "2", ""})
	check.Equal(t, "the files afterwards", p.files(), before)
	bot := p.start("chat", "--json")
	bot.ask(`{"text":"hello"}`, `"accepted"`)
	p.completes([]string{"memories", "show", "1"}, "1\tI like plums")
}

func TestCompletionsWithoutAStore(t *testing.T) {
	p := newFolder(t)
	for _, flags := range [][]string{{"--data", "none"}, {"--config", "none.toml"}, {"--config", p.write("bad.toml", "modle = 1")}} {
		p.completes(append(slices.Clone(flags), "recall", "--channel", ""))
		p.completes(append(slices.Clone(flags), "memories", "show", ""))
	}
	p.untouched()
	check.That(t, !strings.Contains(p.files(), "none"), "completion created a file")
	old := stocked(t)
	db := database(t, filepath.Join(old.dir, "data"))
	check.NoError(t, errors.Join(check.ErrorOf(db.Exec("PRAGMA user_version = 1")), db.Close())) // an open database would be a file that changes
	before := old.files()
	old.completes([]string{"recall", "--channel", ""})
	check.Equal(t, "the files of an older version afterwards", old.files(), before)
}

func TestCompletionsOfTheProgram(t *testing.T) {
	p := newFolder(t)
	p.completes([]string{"help", "conf"}, "config\tCheck the settings")
	p.completes([]string{"help", "config", ""}, "check\tShow mistakes in the settings, or which settings differ from the defaults")
	p.completes([]string{"channels", ""})
	p.completes([]string{"recall", "--by", ""})
	p.completes([]string{"recall", "--order", ""}, "best", "newest", "oldest")
}

// TestCompletionsOfChoices completes each flag that accepts only some values, and compares.
func TestCompletionsOfChoices(t *testing.T) {
	a := &app{}
	tried := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			err := f.Value.Set("unheard of")
			_, known, found := strings.Cut(fmt.Sprint(err), "must be one of ")
			if !found {
				return
			}
			tried++
			complete, found := cmd.GetFlagCompletionFunc(f.Name)
			check.Require(t, found, "%s --%s has no completions", cmd.CommandPath(), f.Name)
			got, _ := complete(cmd, nil, "")
			check.Equal(t, cmd.CommandPath()+" --"+f.Name, strings.Join(got, ", "), known)
		})
	}
	visit(newRoot(a))
	check.That(t, tried >= 10, "got only %d flags", tried)
}
