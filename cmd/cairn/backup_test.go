package main

import (
	"strings"
	"testing"
)

func TestBackupAndRestore(t *testing.T) {
	p := newFolder(t)
	p.must("I like tea\n", "chat")
	if out := p.must("", "backup", "b.db"); !strings.HasPrefix(out, "Backed up to b.db, checked: 5 messages of 1 conversation, 0 memories, ") {
		t.Errorf("got %s", out)
	}
	if r := p.run("", "backup", "b.db"); r.code != exitUsage || !strings.Contains(r.err, "name a new file") {
		t.Errorf("exit code %d, %s", r.code, r.err)
	}
	was := p.must("", "transcript", "--json")
	p.must("I like coffee\n", "chat")
	all := parse[struct{ File, Aside string }](t, p.must("", "restore", "b.db", "--json"))
	if len(all) != 1 || all[0].File != "b.db" || all[0].Aside == "" {
		t.Fatalf("got %+v", all)
	}
	if now := p.must("", "transcript", "--json"); now != was {
		t.Errorf("after it there is %s", now)
	}
	for file, want := range map[string]string{
		"none.db":                 "none.db: not found: name a file that `cairn backup` wrote\n",
		p.write("a.txt", "hello"): "a.txt is damaged or no backup of cairn: nothing was changed; name another\n",
	} {
		if r := p.run("", "restore", file); !strings.HasSuffix(r.err, want) || file == "none.db" && r.code != exitNotFound {
			t.Errorf("exit code %d, %s", r.code, r.err)
		}
	}
}
