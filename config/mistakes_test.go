package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/check"
)

// TestMistakes loads the settings files of testdata/mistakes. A remark that begins with "!" is the
// beginning of the error of its line, without the file's name and the number; "!!" is between two
// errors. Other lines have none.
func TestMistakes(t *testing.T) {
	environment(t, nil)
	files := check.Must(filepath.Glob("testdata/mistakes/*.toml"))(t)
	check.Len(t, "files", files, 15)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var want []string
			for i, line := range strings.Split(string(check.Must(os.ReadFile(file))(t)), "\n") {
				if _, remark, found := strings.Cut(line, "#! "); found {
					for one := range strings.SplitSeq(remark, " !! ") {
						want = append(want, fmt.Sprintf(":%d: %s", i+1, one))
					}
				}
			}
			wrong, _ := errors.AsType[*Error](check.ErrorOf(Load(file)))
			check.Require(t, wrong != nil, "the settings were accepted")
			got := strings.Split(wrong.Error(), "\n")
			check.Len(t, "mistakes", got, len(want))
			for i, line := range got {
				check.HasPrefix(t, "a mistake", strings.TrimPrefix(line, file), want[i])
			}
			check.Lacks(t, "the error shows a secret", wrong.Error(), "hush", "secret-123")
		})
	}
}

// The TOML library needs gigabytes and hours for a file that nests without limit.
func TestDeepNestingIsRefused(t *testing.T) {
	deep := strings.Repeat("a.", 20) + "a"
	for _, test := range []struct {
		name, text string
		line       int
	}{
		{"what a setting needs", "[agents.compaction]\nprepare_threshold = 0.7\na = { b = [1, [2]] }", 0},
		{"dots in texts and remarks", strings.NewReplacer("D", strings.Repeat(".", 99)).Replace("# D\na = \"D\\\"D\"\nb = 'D'\nc = \"\"\"D\nD\"\"\"\nd = '''D'''\n#D"), 0},
		{"quotes in texts", "a = \"'\"\nb = '\"'\n" + deep + " = 1", 3},
		{"a key with spaces and quotes", "x = 1\n" + strings.Repeat("'a' . ", 20) + "a = 1", 2},
		{"a table", "x = \"\"\"\n\"\"\"\n[" + deep + "]", 3},
		{"a key inside a table", "x = { " + deep + " = 1 }", 1},
		{"braces", "x = " + strings.Repeat("{a=", 20), 1},
		{"a text without end", "x = \"...\ny = '", 0},
		{"many keys", strings.Repeat("a.", 100_000) + "a = 1", 1},
		{"many brackets", "a = " + strings.Repeat("[", 100_000), 1},
	} {
		wrong, _ := errors.AsType[*Error](check.ErrorOf(Parse("config.toml", []byte(test.text))))
		line := 0
		if strings.Contains(wrong.Error(), "this is nested deeper than 16 levels") {
			line = wrong.Problems[0].Line
		}
		check.Equal(t, test.name+": line", line, test.line)
	}
}
