// docs/configuration.md: its tables are generated from config.toml and from Validate.

package config

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/testkit/check"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

func TestConfigurationPage(t *testing.T) {
	const page = "../docs/configuration.md"
	const mark = "<!-- Generated from config/config.toml. Renew it: go test ./config -run TestConfigurationPage -update -->\n"
	intro, tables, found := strings.Cut(string(check.Must(os.ReadFile(page))(t)), mark)
	check.Require(t, found, "%s lacks the line %q", page, mark)
	want := settingsTables()
	if *update {
		check.NoError(t, os.WriteFile(page, []byte(intro+mark+want), 0o644))
		return
	}
	has := strings.Split(tables, "\n")
	lines := strings.Split(want, "\n")
	for i, line := range lines {
		check.Require(t, i < len(has) && has[i] == line,
			"docs/configuration.md differs from config/config.toml, renew it: go test ./config -run TestConfigurationPage -update\nfirst line that it lacks: %s", line)
	}
	check.Len(t, "lines of the tables", has, len(lines))
}

func settingsTables() string {
	var b strings.Builder
	table := "none yet"
	previous := ""
	for _, s := range Reference() {
		valid := ""
		line := "|---|---|---|\n"
		if parent(s.Key) == policyTable {
			valid = "valid | "
			line = "|---" + line
		}
		if s.table != table {
			table = s.table
			previous = ""
			fmt.Fprintf(&b, "\n## %s\n\n| setting | default | %smeaning |\n%s", strings.Replace("`"+table+"`", "``", "Top level", 1), valid, line)
		}
		text := s.Description
		switch {
		case text == "":
			text = "as in `[discord]`"
		case text == previous:
			text = "as above"
		default:
			previous = text
		}
		cells := []string{"`" + base(s.Key) + "`", defaultOf(s)}
		if valid != "" {
			cells = append(cells, validValues(base(s.Key)))
			text = statedRange.ReplaceAllString(text, "")
		}
		if s.Restart {
			text += ". *Restart.*"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(cells, " | "), text)
	}
	return b.String()
}

const policyTable = "defaults.compaction"

// statedRange is a range at the end of a description: the column of valid values has it.
var statedRange = regexp.MustCompile(`[;.]? (?:0 is off, else at least \d+|(?:or )?\d\S* to [0-9.]+[hm]?)\.?$`)

func defaultOf(s Setting) string {
	switch {
	case slices.Contains([]string{"providers", "prices", "bindings", "tools"}, parent(s.Key)):
		return "e.g. `" + s.Default + "`"
	case s.Key == policyTable+".prepare_threshold":
		return "`0.60`, or ¾ of `background_threshold` if that is less"
	}
	return "`" + s.Default + "`"
}

// validValues returns in Validate's words which values a setting of the policy may have.
func validValues(key string) string {
	for _, impossible := range []string{"-3", "-1s", "nonsense"} {
		p, unread := compactor.Patch{key: impossible}.Over(compactor.DefaultPolicy())
		if faults := p.Validate(); len(unread) == 0 && len(faults) > 0 {
			return strings.ReplaceAll(faults[0].Want, " (0.8)", "")
		}
	}
	switch compactor.DefaultPolicy().Value(key) {
	case "true", "false":
		return "true or false"
	}
	return "a text"
}
