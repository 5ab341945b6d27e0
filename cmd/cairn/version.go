// cairn version: print which build this is.
package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func newVersion(a *app) *cobra.Command {
	var sbom bool
	cmd := &cobra.Command{
		Use:   "version [--sbom [PROGRAM]]",
		Short: "Print the version, or what the program was built from",
		Long: `Print the version; with --sbom the software bill of materials of this program, or of
another program of cairn, as JSON in the form CycloneDX 1.5.`,
		Example: `  cairn version
  cairn version --sbom | jq -r '.components[].purl'`,
		Args: needs(0, 1, ""),
		RunE: func(cmd *cobra.Command, programs []string) error {
			switch {
			case sbom:
				return writeBOM(a.out, strings.Join(programs, ""))
			case len(programs) > 0:
				return wrongUse(cmd, errors.New("a PROGRAM needs --sbom"))
			}
			_, err := fmt.Fprintf(a.out, "cairn %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	cmd.Flags().BoolVar(&sbom, "sbom", false, "print the software bill of materials")
	return cmd
}

// version returns the module's version if it was installed as one, else the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	commit, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = " " + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with changes"
		}
	}
	return info.Main.Version + commit + changed
}
