package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"

	"golang.org/x/sys/unix"
)

// A full disk, if a small one can be mounted.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=2m,mode=700"); err != nil {
		t.Skip("no small disk can be mounted here:", err)
	}
	defer unix.Unmount(small, unix.MNT_DETACH)
	p := newFolder(t)
	l := p.start("chat", "--json", "--data", filepath.Join(small, "data"))
	if ok, words := l.saidTo("1", "a"); !ok {
		t.Fatal(words)
	}
	command := func(line string) string {
		l.say(fmt.Sprintf(`{"text":%q,"id":%q,"channel":"a"}`, line, line))
		lines := l.until(fmt.Sprintf(`"to":[%q]`, line))
		return lines[len(lines)-1]
	}
	command("/pins") // which waits until the first reply is noted as sent
	filler := filepath.Join(small, "filler")
	fill := func() {
		file := check.Must(os.Create(filler))(t)
		for err := error(nil); err == nil; {
			_, err = file.Write(make([]byte, 4096))
		}
		file.Close()
	}
	fill()
	const words = `"text":"My disk is full, so I cannot save anything. Ask the bot's operator to make room."`
	for i := 0; i < 100 && !strings.Contains(command(fmt.Sprintf("/remember tea number %d is good", i)), words); i++ {
	}
	for _, line := range []string{"/remember green tea is better", "/new", "/pin 1"} {
		check.Contains(t, line, command(line), words)
	}
	refused := 0
	for i := range 100 { // SQLite's reserved space may hold a few
		ok, words := l.saidTo(fmt.Sprint("full", i), "a")
		if ok {
			continue
		}
		if refused++; words != "My disk is full, so I cannot save anything. Ask the bot's operator to make room." {
			t.Errorf("got %q", words)
		}
		if refused == 3 {
			break
		}
	}
	check.Require(t, refused == 3, "got %d rejected messages", refused)
	check.NoError(t, os.Remove(filler))
	deadline := time.Now().Add(30 * time.Second)
	for ok := false; !ok && time.Now().Before(deadline); {
		ok, _ = l.saidTo(fmt.Sprint("room", time.Now().UnixNano()), "a")
	}
	l.end()
	p.must("/remember tea is green\n", "chat")
	fill()
	file := filepath.Join(small, "file")
	p.fails(exitFailed, "no space left on device", "memories", "export", file)
	p.fails(exitFailed, "file: the disk is full: make room: ", "backup", file)
	if _, err := os.Stat(file); err == nil {
		t.Error("part of a file is in the way of the next try")
	}
	if r := p.run("", "context", "--data", filepath.Join(small, "data")); r.code != 0 {
		check.Contains(t, "errors", r.err, "the disk is full: make room")
	} else {
		t.Error("a command could read beside a full disk: the test proves nothing")
	}
	const spare = 200 << 10 // enough to open the database, not for a copy of it
	check.NoError(t, os.Truncate(filler, check.Must(os.Stat(filler))(t).Size()-spare))
	r := p.run("", "doctor", "--data", filepath.Join(small, "data"))
	check.Equal(t, "exit code of doctor", r.code, exitFailed)
	check.Contains(t, "doctor", r.out, "WRONG  data      not enough room on the disk: ", " MB and has 0 MB")
	check.NoError(t, os.Remove(filler))
	check.Contains(t, "output", p.must("", "doctor", "--data", filepath.Join(small, "data")), "every page can be read")
}
