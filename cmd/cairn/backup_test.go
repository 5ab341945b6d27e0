package main

import (
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("I like tea\n", "chat")
	check.HasPrefix(t, "output", p.must("", "backup", "b.db"), "Backed up to b.db, checked: 2 messages of 1 conversation, 0 memories, ")
	p.fails(exitUsage, "name a new file", "backup", "b.db")
	was := p.must("", "transcript", "--json")
	p.must("I like coffee\n", "chat")
	all := parse[struct{ File, Aside string }](t, p.must("", "restore", "b.db", "--json"))
	check.Require(t, len(all) == 1 && all[0].File == "b.db" && all[0].Aside != "", "got %+v", all)
	check.Equal(t, "transcript", p.must("", "transcript", "--json"), was)
	for file, want := range map[string]string{
		"none.db":                 "none.db: not found: name a file that `cairn backup` wrote\n",
		p.write("a.txt", "hello"): "a.txt is damaged or no backup of cairn: nothing was changed; name another\n",
	} {
		if r := p.run("", "restore", file); !strings.HasSuffix(r.err, want) || file == "none.db" && r.code != exitNotFound {
			t.Errorf("exit code %d, %s", r.code, r.err)
		}
	}
}

// TestRestoredBotBackfills: the platforms still have the messages since the backup.
func TestRestoredBotBackfills(t *testing.T) {
	t.Parallel()
	p, f, r := answering(t, "Understood.")
	for i, text := range []string{"I like tea", "the garden is open"} {
		if i == 1 {
			f.must("", "backup", "b.db")
		}
		p.sayOnBoth(text)
		p.until(r, text+" is answered", func() bool { return p.answers("Understood.") == [2]int{i + 1, i + 1} })
	}
	r.stop()
	f.must("", "restore", "b.db")
	channels := parse[struct{ Channel string }](t, f.must("", "channels", "--json"))
	since := func() (n int) {
		for _, c := range channels {
			n += strings.Count(f.must("", "transcript", "--channel", c.Channel), "the garden is open")
		}
		return n
	}
	if n := since(); len(channels) != 2 || n != 0 {
		t.Fatalf("got messages since the backup in %d of the channels %v", n, channels)
	}
	again := f.start("run")
	p.until(again, "both channels have what came since", func() bool { return since() == 2 })
}
