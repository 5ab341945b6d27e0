// The software bill of materials of a cairn program.
package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// bom is a bill of materials in CycloneDX 1.5 (cyclonedx.org/docs/1.5/json), without time and
// serial number, so that equal builds have equal bills.
type bom struct {
	Format     string     `json:"bomFormat"`
	Spec       string     `json:"specVersion"`
	Version    int        `json:"version"`
	Metadata   bomHead    `json:"metadata"`
	Components []bomEntry `json:"components"`
}

type bomHead struct {
	Component bomEntry `json:"component"`
}

type bomEntry struct {
	Type       string        `json:"type"` // application, library
	Ref        string        `json:"bom-ref"`
	Name       string        `json:"name"`
	Version    string        `json:"version"`
	PURL       string        `json:"purl,omitempty"`
	Properties []bomProperty `json:"properties,omitempty"`
}

type bomProperty struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// writeBOM writes the bill of materials of a cairn program; with an empty name, of this one.
func writeBOM(w io.Writer, program string) (err error) {
	info, ok := debug.ReadBuildInfo()
	if program != "" {
		if info, err = buildinfo.ReadFile(program); err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
	} else if !ok {
		return errors.New("this program does not know what it was built from")
	}
	if info.Main.Path != "cairn" {
		return fmt.Errorf("%s is not a program of cairn but of %s", program, cmp.Or(info.Main.Path, "unknown origin"))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(bomOf(info))
}

func bomOf(info *debug.BuildInfo) bom {
	main := goModule(info.Main)
	main.Type, main.PURL = "application", "" // it is in no registry
	for _, s := range info.Settings {
		if slices.Contains([]string{"GOOS", "GOARCH", "CGO_ENABLED", "vcs.revision", "vcs.modified"}, s.Key) {
			main.Properties = append(main.Properties, bomProperty{"go:build:" + s.Key, s.Value})
		}
	}
	sqlite, _, _ := sqlite3.Version()
	list := []bomEntry{
		goModule(debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}),
		{Type: "library", Ref: "sqlite", Name: "sqlite", Version: sqlite, PURL: "pkg:generic/sqlite@" + sqlite}, // its C code is in go-sqlite3
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, goModule(*m))
	}
	return bom{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: bomHead{main}, Components: list}
}

func goModule(m debug.Module) bomEntry {
	purl := "pkg:golang/" + strings.ToLower(m.Path) + "@" + strings.ReplaceAll(m.Version, "+", "%2B") // the encoding that package-url requires
	entry := bomEntry{Type: "library", Name: m.Path, Version: m.Version, PURL: purl}
	entry.Ref = entry.PURL
	if m.Sum != "" {
		entry.Properties = []bomProperty{{"go:sum", m.Sum}}
	}
	return entry
}
