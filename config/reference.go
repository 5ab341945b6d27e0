// The description of every setting, as config.toml gives it.
package config

import (
	_ "embed"
	"regexp"
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
	Key         string // with its table: "defaults.compaction.keep_first"
	Default     string // as TOML; of a table that is there only as an example, the example
	Description string // its own remark, or else the one above its group
	Restart     bool   // it is read at the start only
}

var (
	tableLine   = regexp.MustCompile(`^(?:# )?\[+([a-z_.]+)(?:\."[^"]*")?\]+$`)
	settingLine = regexp.MustCompile(`^(?:# )?([a-z_]+) *= (.*?)(?: +# (.*))?$`)
)

// Reference lists every setting, in the order of config.toml.
var Reference = sync.OnceValue(func() (all []Setting) {
	table, group := "", ""
	for line := range strings.Lines(shipped) {
		line = strings.TrimSpace(line)
		if header := tableLine.FindStringSubmatch(line); header != nil {
			table, group = header[1]+".", ""
			continue
		}
		setting := settingLine.FindStringSubmatch(line)
		switch {
		case line == "":
			group = ""
		case setting == nil:
			group = strings.TrimSpace(group + " " + strings.TrimPrefix(line, "# "))
		case table != "agents.compaction.": // an example; described as the defaults
			remark := setting[3]
			if remark == "" {
				remark = group
			}
			text, restart := strings.CutSuffix(remark, " (restart)")
			all = append(all, Setting{Key: table + setting[1], Default: setting[2], Description: text, Restart: restart})
		}
	}
	return all
})
