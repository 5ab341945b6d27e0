// The descriptions of all settings, from config.toml.

package config

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// shipped is the config.toml that ships with the program: every setting with its default and
// its description. The one in the root of the repository is a copy, which people edit.
//
//go:generate cp config.toml ../config.toml
//go:embed config.toml
var shipped string

// Setting is one setting and its description.
type Setting struct {
	Key         string // including its table: "defaults.compaction.keep_first"
	Default     string // as TOML; in a table that is only an example, the example's value
	Description string // its own comment, else the comment above its group
	Restart     bool   // whether it is read only at the start

	table string // the table's header; "": at the top
}

var (
	tableLine   = regexp.MustCompile(`^(?:# )?\[+([a-z_.]+)(\."[^"]*")?\]+$`)
	settingLine = regexp.MustCompile(`^(?:# )?([a-z_]+) *= (.*?)(?: +# (.*))?$`)
)

// Reference lists every setting, in the order of config.toml.
var Reference = sync.OnceValue(func() (all []Setting) {
	table, shown, group := "", "", ""
	for line := range strings.Lines(shipped) {
		line = strings.TrimSpace(line)
		if header := tableLine.FindStringSubmatch(line); header != nil {
			table, group = header[1]+".", ""
			shown = strings.Replace(strings.TrimPrefix(line, "# "), header[2], `."MODEL"`, len(header[2]))
			continue
		}
		setting := settingLine.FindStringSubmatch(line)
		switch {
		case line == "":
			group = ""
		case setting == nil:
			group = strings.TrimSpace(group + " " + strings.TrimPrefix(line, "# "))
		case table != "agents.compaction.": // agents.compaction is an example; its keys are described under defaults
			remark := setting[3]
			if remark == "" {
				remark = group
			}
			text, restart := strings.CutSuffix(remark, " (restart)")
			all = append(all, Setting{Key: table + setting[1], Default: setting[2], Description: text, Restart: restart, table: shown})
		}
	}
	return all
})

// tablesWith returns where a key, or a table of that name, is allowed, in words; nil if nowhere.
func tablesWith(key string) (homes []string) {
	for _, s := range Reference() {
		home := "under " + s.table
		switch key {
		case base(s.Key):
			if s.table == "" {
				home = "at the top, above the first table"
			}
		case base(parent(s.Key)):
			home = "as " + s.table
		default:
			continue
		}
		if !slices.Contains(homes, home) {
			homes = append(homes, home)
		}
	}
	return homes
}
