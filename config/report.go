// The report on what the settings files set: mistakes and warnings, each with its position.

package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// report collects what is wrong with the settings of the files.
type report struct {
	file     string              // the first of the files; empty: there is none
	lines    map[string]position // of every table and key
	agents   []string            // the ids of [[agents]], as the files have them
	problems []Problem
	warnings []Problem // settings that work but should be changed
}

func newReport(sources []source, lines map[string]position) *report {
	r := &report{lines: lines}
	if len(sources) > 0 {
		r.file = sources[0].file
	}
	return r
}

// must reports the value of a setting that is not ok, and what it must do: "be one of …".
func (r *report) must(ok bool, path string, value any, want string) {
	if text, quoted := value.(string); quoted {
		value = strconv.Quote(text)
	}
	if !ok {
		r.problem(path, fmt.Sprintf("%s = %v: must %s", base(path), value, want))
	}
}

// problem reports a mistake in the setting at path, or that it is missing. A mistake inherited by
// several agents is reported once.
func (r *report) problem(path, text string) {
	if p := r.at(path, text); !slices.Contains(r.problems, p) {
		r.problems = append(r.problems, p)
	}
}

func (r *report) warn(path, text string) { r.warnings = append(r.warnings, r.at(path, text)) }

// warnFile warns of a file, without a line.
func (r *report) warnFile(file, text string) {
	r.warnings = append(r.warnings, Problem{File: file, Text: text})
}

// renamed gives the new name of a setting the position of its old one.
func (r *report) renamed(old, name string) { r.lines[name] = r.lines[old] }

func (r *report) at(path, text string) Problem {
	at := r.position(path)
	return Problem{File: at.file, Line: at.line, Table: r.tableName(parent(path)), Text: text}
}

// position returns where the setting at path is, or the table that lacks it; else the file alone.
func (r *report) position(path string) position {
	for ; path != ""; path = parent(path) {
		if at, known := r.lines[path]; known {
			return at
		}
	}
	return position{file: r.file}
}

// tableName returns the name of the table at path, for people.
func (r *report) tableName(path string) string {
	if path == "" {
		return ""
	}
	if model, ok := strings.CutPrefix(path, "prices."); ok { // the model's name may contain dots
		return fmt.Sprintf("[prices.%q]", model)
	}
	parts := strings.Split(path, ".")
	if len(parts) > 1 {
		if n, err := strconv.Atoi(parts[1]); err == nil {
			parts[1] = strconv.Itoa(n + 1)
			if parts[0] == "agents" && n < len(r.agents) {
				parts[1] = cmp.Or(r.agents[n], parts[1])
			}
		}
	}
	return "[" + strings.Join(parts, ".") + "]"
}
