package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/check"
)

// hookSettings are settings with a small window, and hooks that write their input to files in dir.
func hookSettings(dir, before string) string {
	script := func(text string) string { return fmt.Sprintf("[\"sh\", \"-c\", %q]", text) }
	return fmt.Sprintf(`[[agents]]
id = "cairn"
context_window = 4000
[hooks]
before_compaction = %s
after_compaction = %s
on_memory = %s
on_reply = %s
`, script("cat >> "+dir+"/before; echo >> "+dir+"/before; "+before), script("cat >> "+dir+"/after; echo >> "+dir+"/after"),
		script("cat >> "+dir+"/memory; echo >> "+dir+"/memory"), script("cat >> "+dir+"/reply; echo >> "+dir+"/reply"))
}

// notes returns the events that a hook wrote.
func notes(t *testing.T, dir, hook string) (all []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, hook))
	if os.IsNotExist(err) {
		return nil
	}
	check.NoError(t, err)
	for events := json.NewDecoder(bytes.NewReader(text)); events.More(); { // two hooks at a time may share a line
		var one map[string]any
		check.NoError(t, events.Decode(&one))
		all = append(all, one)
	}
	return all
}

func TestHooksAreCalled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newFolder(t)
	p.write("config.toml", hookSettings(dir, `echo '{"focus":"the pond"}'`))
	var input strings.Builder
	for i := range 30 {
		fmt.Fprintf(&input, "The garden of plot %d needs %s and the gate opens at noon.\n", i, strings.Repeat("tulips ", 30))
	}
	p.must(input.String()+"/remember Ada plays the cello\n/compact\n", "chat")
	for _, c := range []struct{ hook, has string }{
		{"before", "used_tokens"}, {"after", "before_tokens"}, {"memory", "content"}, {"reply", "text"},
	} {
		told := notes(t, dir, c.hook)
		if len(told) == 0 {
			t.Errorf("%s got no event", c.hook)
			continue
		}
		if told[0][c.has] == nil || told[0]["conversation"] != "terminal:general" || told[0]["time"] == nil {
			t.Errorf("%s got %v", c.hook, told[0])
		}
	}
	after := notes(t, dir, "after")
	if len(after) > 0 && !strings.HasPrefix(after[0]["path"].(string), "/api/conversations/terminal:general/summaries/") {
		t.Errorf("hook after got %v", after[0])
	}
}

func TestHookCannotVetoEmergencies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newFolder(t)
	p.write("config.toml", hookSettings(dir, `echo '{"reason":"not at night"}'; exit 10`))
	var input strings.Builder
	for i := range 40 {
		fmt.Fprintf(&input, "The garden of plot %d needs %s and the gate opens at noon.\n", i, strings.Repeat("tulips ", 40))
	}
	out := p.must(input.String()+"/compact\n/context\n", "chat")
	check.Contains(t, "/compact", out, "not at night")
	list := p.must("", "compactions", "--json")
	check.Lacks(t, "compactions", list, `"trigger":"background"`)
	check.Contains(t, "compactions", list, `"trigger":"emergency"`)
}
