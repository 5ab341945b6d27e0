package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/store"
)

// community fills a data folder with two servers, a thread and the terminal. Ada writes the secret
// in each, and Bo known text.
func (p folder) community() {
	p.t.Helper()
	db := check.Must(store.Open(p.t.Context(), store.Options{Dir: filepath.Join(p.dir, "data")}))(p.t)
	ctx := p.t.Context()
	for i, name := range []string{"discord:1/10", "discord:1/10/m1", "discord:1/11", "discord:2/20", "terminal:general"} {
		c := check.Must(db.Conversation(ctx, name))(p.t)
		said := []channel.Inbound{
			{ID: "m1", AuthorID: "7", Author: "Ada", Text: fmt.Sprintf("the xylophone of %d is a gift", i)},
			{ID: "m2", AuthorID: "8", Author: "Bo", Text: fmt.Sprintf("weather of %d", i)},
		}
		if strings.Count(name, "/") == 2 { // the thread
			said[0].ID, said[1].ID, said[1].ReplyTo, said[1].Quote = "t1", "t2", "m1", "Ada: the xylophone"
		}
		if i == 4 {
			said[0].AuthorID = "ada"
		}
		check.Must(c.Inbox().DeliverAll(ctx, said))(p.t)
		check.Must(c.Inbox().Dequeue(ctx, store.All, 10_000, time.Time{}))(p.t)
		check.Must(memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "a xylophone is a gift", Messages: []int64{1}}}))(p.t)
	}
	check.NoError(p.t, db.Close())
	p.write(filepath.Join("data", "history"), "the xylophone is a gift\n")
}

// holds counts the copies of a text in the data folder's files, ignoring case.
func (p folder) holds(text string) (n int) {
	p.t.Helper()
	err := filepath.WalkDir(filepath.Join(p.dir, "data"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		n += bytes.Count(bytes.ToLower(raw), []byte(text))
		return err
	})
	check.NoError(p.t, err)
	return n
}

func TestPurge(t *testing.T) {
	t.Parallel()
	t.Run("who is not asked and does not say yes deletes nothing", func(t *testing.T) {
		p := newFolder(t)
		p.community()
		before := p.holds("xylophon")
		for _, test := range []struct {
			args []string
			code int
			want string
		}{
			{[]string{"purge", "--channel", "general"}, exitUsage, "confirm with --yes"},
			{[]string{"purge"}, exitUsage, "name one of --user, --channel and --server"},
			{[]string{"purge", "--user", "8", "--server", "discord:1", "--yes"}, exitUsage, "name one of"},
			{[]string{"purge", "--user", "Eve", "--yes"}, exitNotFound, "no one with that id or name"},
			{[]string{"purge", "--channel", "attic", "--yes"}, exitNotFound, "not found"},
			{[]string{"purge", "--server", "discord:3", "--yes"}, exitNotFound, "not found"},
			{[]string{"purge", "--user", "Ada", "--yes"}, exitUsage, "--user discord:7"},
			{[]string{"purge", "--data", "none", "--user", "Ada", "--yes"}, exitNotFound, "no data"},
		} {
			if r := p.run("", test.args...); r.code != test.code || !strings.Contains(r.err, test.want) || r.out != "" {
				t.Errorf("%v: exit code %d, %q, %q", test.args, r.code, r.out, r.err)
			}
		}
		if got := p.holds("xylophon"); got != before || before == 0 {
			t.Errorf("got %d copies before and %d now", before, got)
		}
		check.Error(t, check.ErrorOf(os.Stat(filepath.Join(p.dir, "none"))), fs.ErrNotExist)
	})
	t.Run("a dry run tells what would go, beside a bot", func(t *testing.T) {
		p := newFolder(t)
		p.community()
		bot := p.start("chat", "--json")
		defer bot.cmd.Process.Kill()
		out := p.must("", "purge", "--server", "discord:1", "--dry-run")
		check.Contains(t, "out", out, "To be deleted: 6 messages and 3 memories\n", "discord:1/10/m1")
		check.Lacks(t, "out", out, "discord:2")
	})
}

func TestPurgeOfChannels(t *testing.T) {
	t.Parallel()
	t.Run("a channel goes whole, its threads keep their own, and nothing of it comes back", func(t *testing.T) {
		p := newFolder(t)
		p.community()
		out := p.must("", "purge", "--channel", "discord:1/10", "--yes", "--json")
		check.Equal(t, "out", out, `{"channels":[{"channel":"discord:1/10","messages":2,"memories":1}],"messages":2,"memories":1,"deleted":true}`+"\n")
		for _, text := range []string{"xylophone of 0", "weather of 0", "ada: the xylophone"} {
			check.Equal(t, "what is left of "+text, p.holds(text), 0)
		}
		for _, text := range []string{"xylophone of 1", "weather of 1", "weather of 2"} {
			check.That(t, p.holds(text) != 0, "got %q deleted", text)
		}
		db := check.Must(store.Open(t.Context(), store.Options{Dir: filepath.Join(p.dir, "data")}))(t)
		defer db.Close()
		c := check.Must(db.Find(t.Context(), "discord:1/10"))(t)
		if r, err := c.Inbox().Deliver(t.Context(), channel.Inbound{ID: "m1", AuthorID: "7", Author: "Ada", Text: "the xylophone"}); err != nil || r.Fresh {
			t.Errorf("redelivered: %+v, %v", r, err)
		}
		if done, _, err := c.Past().ReadBack(t.Context()); err != nil || !done {
			t.Errorf("backfill is due: %v, %v", done, err)
		}
		if r, err := c.Inbox().Deliver(t.Context(), channel.Inbound{ID: "m9", AuthorID: "7", Author: "Ada", Text: "new"}); err != nil || !r.Fresh {
			t.Errorf("%+v, %v", r, err)
		}
		taken := check.Must(c.Inbox().Dequeue(t.Context(), store.All, 1000, time.Time{}))(t)
		check.Len(t, "dequeued", taken, 1)
		check.Equal(t, "taken[0].Seq", taken[0].Seq, 3)
		check.Equal(t, "output", len(check.Must(c.Compactions().Load(t.Context()))(t).Messages), 1)
	})
	t.Run("a server goes with all its channels and threads", func(t *testing.T) {
		p := newFolder(t)
		p.community()
		p.must("", "purge", "--server", "discord:1", "--yes")
		for i := range 3 {
			check.Equal(t, fmt.Sprintf("of channel %d", i), p.holds(fmt.Sprintf("weather of %d", i))+p.holds(fmt.Sprintf("xylophone of %d", i)), 0)
		}
		check.That(t, p.holds("xylophone of 3") != 0 && p.holds("weather of 4") != 0, "messages of others")
	})
}

func TestPurgeOfPeople(t *testing.T) {
	t.Parallel()
	t.Run("a person goes from all channels of their platform, and the others stay", func(t *testing.T) {
		p := newFolder(t)
		p.community()
		out := p.must("", "purge", "--user", "discord:7", "--yes")
		check.HasPrefix(t, "out", out, "Deleted: 4 messages and 4 memories of Ada (discord:7)\n")
		for i := range 4 {
			check.Equal(t, fmt.Sprintf("of channel %d", i), p.holds(fmt.Sprintf("xylophone of %d", i)), 0)
			check.That(t, p.holds(fmt.Sprintf("weather of %d", i)) != 0, "messages of others in channel %d are deleted", i)
		}
		check.That(t, p.holds("xylophone of 4") != 0, "another platform's person of the same name was deleted")
		p.must("", "purge", "--user", "terminal:ada", "--yes")
		check.Equal(t, "copies left", p.holds("xylophon"), 0)
	})
	t.Run("beside a running bot it says so", func(t *testing.T) {
		p := newFolder(t)
		p.community()
		db := check.Must(store.Open(t.Context(), store.Options{Dir: filepath.Join(p.dir, "data")}))(t)
		defer db.Close()
		p.fails(exitInUse, "stop it", "purge", "--user", "8", "--yes")
	})
}
