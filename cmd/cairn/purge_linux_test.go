package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
)

// twoServers fills a data folder with two servers, a thread and the terminal. Ada writes the secret
// in each, and Bo known text.
func twoServers(t *testing.T) folder {
	t.Helper()
	p := newFolder(t)
	ctx := t.Context()
	db := p.store()
	for i, name := range []string{"discord:1/10", "discord:1/10/m1", "discord:1/11", "discord:2/20", "terminal:general"} {
		c := check.Must(db.Conversation(ctx, name))(t)
		said := []store.Inbound{
			{ID: "m1", AuthorID: "7", Author: "Ada", Text: fmt.Sprintf("the xylophone of %d is a gift", i)},
			{ID: "m2", AuthorID: "8", Author: "Bo", Text: fmt.Sprintf("weather of %d", i)},
		}
		if strings.Count(name, "/") == 2 { // the thread
			said[0].ID = "t1"
			said[1].ID = "t2"
			said[1].ReplyTo = "m1"
			said[1].Quote = "Ada: the xylophone"
		}
		if i == 4 {
			said[0].AuthorID = "ada"
		}
		check.Must(c.Inbox().Deliver(ctx, said...))(t)
		check.Must(c.Inbox().Dequeue(ctx, store.All, 10_000, time.Time{}))(t)
		check.Must(memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "a xylophone is a gift", Messages: []int64{1}}}))(t)
	}
	check.NoError(t, db.Close())
	p.write(filepath.Join("data", "history"), "the xylophone is a gift\n")
	return p
}

func (p folder) has(want bool, texts ...string) {
	p.t.Helper()
	all := bytes.ToLower([]byte(tree(p.t, filepath.Join(p.dir, "data"))))
	for _, text := range texts {
		check.Equal(p.t, text+" is in the data folder", bytes.Contains(all, []byte(text)), want)
	}
}

func TestPurgeRefuses(t *testing.T) {
	p := twoServers(t)
	p.refuses(exitUsage, "purge", map[string]string{
		"--channel general": "confirm with --yes", "": "name one of --user, --channel and --server", "--user 8 --server discord:1 --yes": "name one of", "--user Ada --yes": "--user discord:7",
	})
	p.refuses(exitNotFound, "purge", map[string]string{
		"--user Eve --yes": "no one with that id or name", "--channel attic --yes": "not found", "--server discord:3 --yes": "not found", "--data none --user Ada --yes": "no data",
	})
	check.Error(t, check.ErrorOf(os.Stat(filepath.Join(p.dir, "none"))), fs.ErrNotExist)
	db := p.store() // like a bot
	p.fails(exitInUse, "stop it", "purge", "--user", "8", "--yes")
	out := p.must("", "purge", "--server", "discord:1", "--dry-run")
	check.Contains(t, "dry run beside a bot", out, "To be deleted: 6 messages and 3 memories\n", "discord:1/10/m1")
	check.Lacks(t, "dry run", out, "discord:2")
	check.NoError(t, db.Close())
	ask := func(answer string, code int) string {
		s := p.atScreen("purge", "--channel", "discord:2/20")
		s.answer("Type yes", answer)
		return s.end(code)
	}
	check.Contains(t, "the screen", ask("y", exitFailed), "To be deleted: 2 messages and 1 memory\n  discord:2/20", "nothing was deleted\n")
	s := p.atScreen("purge", "--channel", "discord:2/20")
	s.until("Type yes")
	check.NoError(t, s.cmd.Process.Signal(syscall.SIGINT))
	s.end(130)
	p.has(true, "xylophone of 0", "xylophone of 1", "xylophone of 2", "xylophone of 3", "xylophone of 4", "weather of 3")
	check.Contains(t, "the screen", ask("yes", 0), "\nDeleted: 2 messages and 1 memory\n")
	p.has(false, "weather of 3")
}

func TestPurgeOfChannels(t *testing.T) {
	p := twoServers(t)
	out := p.must("", "purge", "--channel", "discord:1/10", "--yes", "--json")
	check.Equal(t, "output", out, `{"channels":[{"channel":"discord:1/10","messages":2,"memories":1}],"messages":2,"memories":1,"deleted":true}`+"\n")
	p.has(false, "xylophone of 0", "weather of 0", "ada: the xylophone")
	p.has(true, "xylophone of 1", "weather of 1", "weather of 2")
	t.Run("nothing of it comes back", func(t *testing.T) {
		db := p.store()
		c := check.Must(db.Find(t.Context(), "discord:1/10"))(t)
		r := check.Must(c.Inbox().Deliver(t.Context(), store.Inbound{ID: "m1", AuthorID: "7", Author: "Ada", Text: "the xylophone"}))(t)[0]
		check.That(t, !r.Fresh, "redelivered: %+v", r)
		done, _, err := c.Past().ReadBack(t.Context())
		check.That(t, done && err == nil, "backfill is due: %v, %v", done, err)
		r = check.Must(c.Inbox().Deliver(t.Context(), store.Inbound{ID: "m9", AuthorID: "7", Author: "Ada", Text: "new"}))(t)[0]
		check.That(t, r.Fresh, "%+v", r)
		taken := check.Must(c.Inbox().Dequeue(t.Context(), store.All, 1000, time.Time{}))(t)
		check.Len(t, "dequeued", taken, 1)
		check.Equal(t, "its number", taken[0].Seq, 3)
		check.Len(t, "what is loaded", check.Must(c.Compactions().Load(t.Context()))(t).Messages, 1)
		check.NoError(t, db.Close())
	})
	p.must("", "purge", "--server", "discord:1", "--yes") // with all its channels and threads
	p.has(false, "xylophone of 1", "weather of 1", "xylophone of 2", "weather of 2")
	p.has(true, "xylophone of 3", "weather of 4")
}

func TestPurgeOfPeople(t *testing.T) {
	p := twoServers(t)
	out := p.must("", "purge", "--user", "discord:7", "--yes")
	check.HasPrefix(t, "output", out, "Deleted: 4 messages and 4 memories of Ada (discord:7)\n")
	p.has(false, "xylophone of 0", "xylophone of 1", "xylophone of 2", "xylophone of 3")
	p.has(true, "weather of 0", "weather of 1", "weather of 2", "weather of 3", "xylophone of 4") // another platform's person of the same name
	p.must("", "purge", "--user", "terminal:ada", "--yes")
	p.has(false, "xylophon")
}
