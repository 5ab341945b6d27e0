package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestBillOfMaterials(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	out := p.must("", "version", "--sbom")
	var b bom
	check.NoError(t, json.Unmarshal([]byte(out), &b))
	found := map[string]string{}
	refs := map[string]bool{}
	for _, c := range b.Components {
		found[c.Name] = c.Version
		if c.Type != "library" || c.Version == "" || refs[c.Ref] || !strings.HasPrefix(c.PURL, "pkg:") {
			t.Errorf("%+v", c)
		}
		refs[c.Ref] = true
	}
	if b.Format != "CycloneDX" || b.Metadata.Component.Name != "cairn" || b.Metadata.Component.Type != "application" || found["std"] != strings.TrimPrefix(runtime.Version(), "go") || !strings.HasPrefix(found["sqlite"], "3.") {
		t.Errorf("%s", out)
	}
	for line := range strings.Lines(read(t, checkout+"/go.mod")) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "github.com/mattn/go-sqlite3" && found[name] != version {
			t.Errorf("%s: got %q, go.mod has %q", name, found[name], version)
		}
	}
	t.Run("of a program that is named", func(t *testing.T) {
		program := check.Must(os.Executable())(t)
		check.Equal(t, "bill of materials", p.must("", "version", "--sbom", program), out)
	})
	t.Run("of another one it is refused", func(t *testing.T) {
		goTool := check.Must(exec.LookPath("go"))(t)
		for _, args := range [][]string{{"version", "--sbom", "lost"}, {"version", "--sbom", "/etc/hostname"}, {"version", "--sbom", goTool}} {
			if r := p.run("", args...); r.code != exitFailed || r.out != "" {
				t.Errorf("%s: exit code %d, %s%s", args, r.code, r.out, r.err)
			}
		}
		if r := p.run("", "version", "x"); r.code != exitUsage {
			t.Errorf("exit code %d, %s", r.code, r.err)
		}
	})
}
