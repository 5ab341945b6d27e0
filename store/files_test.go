package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

// incomplete returns message n, which its connector can complete.
func incomplete(n int, text string) store.Inbound {
	m := storetest.Said(n, text)
	m.Incomplete = true
	return m
}

func TestIncomplete(t *testing.T) {
	t.Run("no message is dequeued past an incomplete one", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.DeliverOnly(t, c, storetest.Said(1, "a"), incomplete(2, "b"), storetest.Said(3, "c"))
		if taken := storetest.Deliver(t, c); !slices.Equal(storetest.Seqs(taken), []int64{1}) {
			t.Fatalf("got dequeued %+v", taken)
		}
		if taken := storetest.Deliver(t, c); taken != nil {
			t.Fatalf("got dequeued %+v", taken)
		}
		found, err := c.Inbox().Incomplete(ctx)
		check.Require(t, err == nil && len(found) == 1 && found[0].ID == "m2" && found[0].Incomplete, "%+v, %v", found, err)
		full := found[0]
		full.Author, full.Text, full.Quote, full.Incomplete = "Beatrice", "b @Ann", `Ann: "a"`, false
		full.Attachments = []chat.Attachment{{Kind: "file", Name: "a.txt", Text: "contents"}}
		check.NoError(t, c.Inbox().Complete(ctx, found[0], full))
		taken := storetest.Deliver(t, c)
		if len(taken) != 2 || taken[0].Author != "Beatrice" || taken[0].Text != "b @Ann" || taken[0].Quote != `Ann: "a"` || taken[1].ID != "m3" ||
			!reflect.DeepEqual(taken[0].Attachments, full.Attachments) {
			t.Errorf("got dequeued %+v", taken)
		}
		if found, err = c.Inbox().Incomplete(ctx); found != nil || err != nil {
			t.Errorf("%+v, %v", found, err)
		}
	})
	t.Run("an edit during completion wins, and is completed itself", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.DeliverOnly(t, c, incomplete(1, "first <@1>"))
		was, _ := c.Inbox().Incomplete(ctx)
		now := incomplete(1, "second <@1>")
		now.Time = storetest.Day.Add(time.Hour)
		if seq, changed, err := c.Transcript().Edit(ctx, now, nil); seq != 0 || !changed || err != nil {
			t.Fatalf("%d, %v, %v", seq, changed, err)
		}
		full := was[0]
		full.Text = "first @Ann"
		check.NoError(t, c.Inbox().Complete(ctx, was[0], full))
		again, err := c.Inbox().Incomplete(ctx)
		check.Require(t, err == nil && len(again) == 1 && again[0].Text == "second <@1>", "%+v, %v", again, err)
		full.Text = "second @Ann"
		check.NoError(t, c.Inbox().Complete(ctx, again[0], full))
		taken := storetest.Deliver(t, c)
		check.Len(t, "dequeued", taken, 1)
		check.Equal(t, "text", taken[0].Text, "second @Ann")
	})
}

func TestChangesOfIncompleteMessages(t *testing.T) {
	t.Run("an edit that takes an attachment away is an edit too", func(t *testing.T) {
		c := storetest.NewConversation(t)
		m := incomplete(1, "look")
		m.Attachments = []chat.Attachment{{Kind: "file", Name: "secret.txt\xff"}}
		storetest.DeliverOnly(t, c, m)
		was, _ := c.Inbox().Incomplete(ctx)
		now := incomplete(1, "look")
		now.Time = storetest.Day.Add(time.Hour)
		edit(t, c, now)
		check.NoError(t, c.Inbox().Complete(ctx, was[0], was[0]))
		if again, err := c.Inbox().Incomplete(ctx); err != nil || len(again) != 1 || again[0].Attachments != nil {
			t.Errorf("%+v, %v", again, err)
		}
	})
	t.Run("a message deleted during completion stays deleted", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.DeliverOnly(t, c, incomplete(1, "x"))
		was, _ := c.Inbox().Incomplete(ctx)
		storetest.Remove(t, c, 1)
		full := was[0]
		full.Attachments = []chat.Attachment{{Kind: "image", Type: "image/png", Data: []byte("png")}}
		check.NoError(t, c.Inbox().Complete(ctx, was[0], full))
		check.Equal(t, "files left", storetest.Number(t, c.Store(), "SELECT (SELECT count(*) FROM inbox) + (SELECT count(*) FROM files)"), 0)
	})
	t.Run("a message addressed during completion is answered", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.DeliverOnly(t, c, incomplete(1, "x"))
		was, _ := c.Inbox().Incomplete(ctx)
		storetest.DeliverOnly(t, c, storetest.Asking(1, "x"))
		check.NoError(t, c.Inbox().Complete(ctx, was[0], was[0]))
		if taken := storetest.Deliver(t, c); !taken[0].Addressed {
			t.Errorf("got dequeued %+v", taken)
		}
	})
}

func withPicture(n int, data string) store.Inbound {
	m := storetest.Said(n, "look")
	m.Attachments = []chat.Attachment{
		{Kind: "image", Name: "cat.png", Type: "image/png", Size: int64(len(data)), Data: []byte(data)},
		{Kind: "file", Name: "a.zip", Size: 9},
	}
	return m
}

func TestFiles(t *testing.T) {
	t.Run("a picture is stored with its message, on every way in", func(t *testing.T) {
		ways := map[string]func(c *store.Conversation) ([]chat.Message, error){
			"delivered": func(c *store.Conversation) ([]chat.Message, error) {
				return storetest.Deliver(t, c, withPicture(1, "data")), nil
			},
			"completed": func(c *store.Conversation) ([]chat.Message, error) {
				storetest.DeliverOnly(t, c, incomplete(1, "look"))
				was, _ := c.Inbox().Incomplete(ctx)
				return nil, c.Inbox().Complete(ctx, was[0], withPicture(1, "data"))
			},
			"read back": func(c *store.Conversation) ([]chat.Message, error) {
				return c.Past().Backfill(ctx, []store.Inbound{withPicture(1, "data")}, nil)
			},
			"edited": func(c *store.Conversation) ([]chat.Message, error) {
				storetest.Deliver(t, c, storetest.Said(1, "before"))
				now := withPicture(1, "data")
				now.Time = storetest.Day.Add(time.Hour)
				_, _, err := c.Transcript().Edit(ctx, now, nil)
				return nil, err
			},
		}
		for way, let := range ways {
			c := storetest.NewConversation(t)
			returned, err := let(c)
			if err != nil {
				t.Fatal(way, err)
			}
			storetest.Deliver(t, c)
			m, err := c.Transcript().Message(ctx, 1)
			if err != nil || len(m.Attachments) != 2 || m.Attachments[0].File == 0 || m.Attachments[0].Data != nil || m.Attachments[1].File != 0 {
				t.Fatalf("%s: %+v, %v", way, m, err)
			}
			if returned != nil && !reflect.DeepEqual(returned[0], m) {
				t.Errorf("%s: returned %+v, stored %+v", way, returned[0], m)
			}
			kind, data, err := c.Transcript().File(ctx, m.Attachments[0].File)
			check.NoError(t, err)
			check.Equal(t, way, kind, "image/png")
			check.Equal(t, way+": string(data)", string(data), "data")
		}
	})
	t.Run("a file belongs to one conversation", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, withPicture(1, "data"))
		other := storetest.Find(t, c.Store(), "terminal:other")
		for _, id := range []int64{1, 0, -1, 1 << 40} {
			if _, _, err := other.Transcript().File(ctx, id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("file %d: %v", id, err)
			}
		}
	})
	t.Run("the same message in another conversation has its own file", func(t *testing.T) {
		c := storetest.NewConversation(t)
		other := storetest.Find(t, c.Store(), "terminal:other")
		storetest.Deliver(t, c, withPicture(1, "mine"))
		theirs := storetest.Deliver(t, other, withPicture(1, "theirs"))
		storetest.Remove(t, c, 1)
		_, data, err := other.Transcript().File(ctx, theirs[0].Attachments[0].File)
		check.Equal(t, "data", string(data), "theirs")
		check.NoError(t, err)
		check.Equal(t, "files", storetest.Number(t, c.Store(), "SELECT count(*) FROM files"), 1)
	})
}

func TestPicturesAndEdits(t *testing.T) {
	t.Run("an edit keeps the picture, or deletes it with its attachment", func(t *testing.T) {
		for _, waits := range []bool{true, false} {
			c := storetest.NewConversation(t)
			storetest.DeliverOnly(t, c, withPicture(1, "data"))
			if !waits {
				storetest.Deliver(t, c)
			}
			same := storetest.Said(1, "look here")
			same.Time = storetest.Day.Add(time.Hour)
			same.Attachments = []chat.Attachment{{Kind: "image", Name: "cat.png", Size: 4, URL: "https://x.test/new"}, {Kind: "file", Name: "b.zip", Size: 9}}
			edit(t, c, same)
			_, data, err := c.Transcript().File(ctx, 1)
			check.Equal(t, fmt.Sprintf("waits %v", waits), string(data), "data")
			check.NoError(t, err)
			gone := storetest.Said(1, "look there")
			gone.Time = storetest.Day.Add(2 * time.Hour)
			edit(t, c, gone)
			if _, _, err := c.Transcript().File(ctx, 1); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("waits %v: %v", waits, err)
			}
			storetest.Deliver(t, c)
			if m, err := c.Transcript().Message(ctx, 1); err != nil || m.Text != "look there" || m.Attachments != nil {
				t.Errorf("waits %v: %+v, %v", waits, m, err)
			}
		}
	})
	t.Run("a new address of the same file is no edit", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, withPicture(1, "data"))
		for i := range 3 {
			m := storetest.Said(1, "look")
			m.Time = storetest.Day.Add(time.Duration(i+1) * time.Hour)
			m.Attachments = []chat.Attachment{{Kind: "image", Name: "cat.png", Size: 4, URL: fmt.Sprint("https://x.test/", i)}, {Kind: "file", Name: "a.zip", Size: 9}}
			if seq, changed, err := c.Transcript().Edit(ctx, m, nil); seq != 1 || changed || err != nil {
				t.Errorf("%d, %v, %v", seq, changed, err)
			}
		}
	})
}

func TestAttemptsSurviveRestart(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	c := storetest.Find(t, s, "terminal:general")
	storetest.DeliverOnly(t, c, incomplete(1, "a"), incomplete(2, "b"))
	tries := func(want ...int) []store.Inbound {
		t.Helper()
		found, err := c.Inbox().Incomplete(ctx)
		check.Require(t, err == nil && len(found) == len(want), "%+v, %v", found, err)
		for i, m := range found {
			check.Equal(t, fmt.Sprintf("attempts of %s", m.ID), m.Tries, want[i])
		}
		return found
	}
	check.NoError(t, c.Inbox().Try(ctx, tries(0, 0)[:1]))
	check.Equal(t, "n", check.Must(c.Inbox().TryPast(ctx))(t), 0)
	c = reopen(t, c)
	check.NoError(t, c.Inbox().Try(ctx, tries(1, 0)))
	check.Equal(t, "n", check.Must(c.Inbox().TryPast(ctx))(t), 1)
	storetest.DeliverOnly(t, c, incomplete(1, "a")) // a redelivery is nothing new
	tries(2, 1)
	edited := incomplete(1, "c")
	edited.Time = storetest.Day.Add(time.Hour)
	edit(t, c, edited)
	tries(0, 1)
}
