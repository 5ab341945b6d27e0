package store_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"cairn/chat"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func changed(t testing.TB, c *store.Conversation, m store.Inbound) bool {
	t.Helper()
	_, changed, err := c.Transcript().Edit(ctx, m, nil)
	check.NoError(t, err)
	return changed
}

func editedLater(n int, text string, hours int, files ...chat.Attachment) store.Inbound {
	m := said(n, text)
	m.Time = storetest.Day.Add(time.Duration(hours) * time.Hour)
	m.Attachments = files
	return m
}

// waitsOrNot put messages into the inbox, or into the transcript.
var waitsOrNot = []func(t testing.TB, c *store.Conversation, m ...store.Inbound){
	deliverOnly, func(t testing.TB, c *store.Conversation, m ...store.Inbound) { deliver(t, c, m...) },
}

func TestEdit(t *testing.T) {
	c := newTalk(t)
	// An edit without changes has no effect.
	deliver(t, c, said(8, "a"), incomplete(9, "b"))
	before := storetest.Version(t, c)
	check.That(t, !changed(t, c, editedLater(8, "a", 1)) && !changed(t, c, editedLater(9, "b", 1)), "got changes")
	was := incompletes(t, c, "b")[0]
	check.Equal(t, "the version", storetest.Version(t, c), before)
	_, due, err := c.Store().Upkeep().EraseAt(ctx, time.Now())
	check.That(t, !due && err == nil, "the files are to be rewritten: %v, %v", due, err)
	check.NoError(t, c.Inbox().Complete(ctx, was, said(9, "b")))
	deliver(t, c)
	// An edited message keeps its seq; text, cost and index change.
	want := deliver(t, c, said(2, "the meeting is on Monday"), said(3, "fine"))[0]
	want.Text = "the meeting is on Tuesday, in the large room"
	want.Tokens = chat.TokensOf(want)
	check.Equal(t, "seq", edit(t, c, 2, want.Text), 3)
	check.That(t, reflect.DeepEqual(message(t, c, 3), want), "got %+v", message(t, c, 3))
	check.Len(t, "found by the old words", storetest.Recalled(t, c, "Monday"), 0)
	check.EqualAll(t, "found by the new words", storetest.Recalled(t, c, "large room Tuesday"), []int64{3})
	check.Equal(t, "version", storetest.Version(t, c), before+1)
	// An edited waiting message is dequeued as edited, also if the old text is delivered again.
	m := asking(1, "buy mlik")
	m.ReplyTo = "m0"
	m.Quote = "x"
	deliverOnly(t, c, m)
	check.Equal(t, "seq", edit(t, c, 1, "buy milk"), 0)
	got := deliver(t, c, m)[0]
	kept := got.Addressed && got.Quote == "x" && got.Time.Equal(m.Time) && got.Tokens == chat.TokensOf(got)
	check.That(t, kept && got.Text == "buy milk", "got dequeued %+v", got)
	// Unknown, bot and deleted messages cannot be edited, nor those of another conversation.
	storetest.Finish(t, c, got.Seq, "reply-2", "half past nine")
	remove(t, c, 3)
	other := find(t, c.Store(), "terminal:other")
	state := dump(t, c.Store())
	for _, id := range []string{"m99", "reply-2", "m3"} {
		m := editedLater(1, "other words", 1)
		m.ID = id
		check.That(t, !changed(t, c, m), "%s was edited", id)
	}
	check.That(t, !changed(t, other, editedLater(1, "other words", 1)), "an edit from another conversation")
	check.Equal(t, "state", dump(t, c.Store()), state)
	_, _, err = c.Transcript().Edit(ctx, store.Inbound{Text: "x"}, nil)
	check.ErrorContains(t, "without an id", err, "id")
	// The later of two edits wins, in whichever order they come. Slack reports the time only to the second.
	for _, put := range waitsOrNot {
		c := newTalk(t)
		put(t, c, said(1, "first"))
		for _, e := range []struct {
			text  string
			hours int
			want  bool
		}{{"third", 3, true}, {"second", 2, false}, {"third", 3, false}, {"fourth", 4, true}, {"fifth", 4, true}} {
			check.Equal(t, e.text, changed(t, c, editedLater(1, e.text, e.hours)), e.want)
		}
		deliver(t, c)
		check.Equal(t, "text", message(t, c, 1).Text, "fifth")
	}
}

// incomplete returns message n, which its connector can complete.
func incomplete(n int, text string) store.Inbound {
	m := said(n, text)
	m.Incomplete = true
	return m
}

func incompletes(t *testing.T, c *store.Conversation, want ...string) []store.Inbound {
	t.Helper()
	found := check.Must(c.Inbox().Incomplete(ctx))(t)
	check.EqualAll(t, "incomplete", storetest.Map(found, func(m store.Inbound) string { return m.Text }), want)
	return found
}

func TestIncomplete(t *testing.T) {
	c := newTalk(t)
	// No message is dequeued past an incomplete one.
	deliverOnly(t, c, said(1, "a"), incomplete(2, "b"), said(3, "c"))
	check.EqualAll(t, "dequeued", ids(deliver(t, c)), []string{"m1"})
	check.Len(t, "dequeued", deliver(t, c), 0)
	was := incompletes(t, c, "b")[0]
	full := was
	full.Author = "Beatrice"
	full.Text = "b @Ann"
	full.Quote = `Ann: "a"`
	full.Incomplete = false
	full.Attachments = []chat.Attachment{{Kind: "file", Name: "a.txt", Text: "contents"}}
	check.NoError(t, c.Inbox().Complete(ctx, was, full))
	taken := deliver(t, c)
	check.EqualAll(t, "dequeued", ids(taken), []string{"m2", "m3"})
	got := taken[0]
	same := got.Author == full.Author && got.Text == full.Text && got.Quote == full.Quote && reflect.DeepEqual(got.Attachments, full.Attachments)
	check.That(t, same, "got dequeued %+v", taken)
	// An edit during completion wins, and is completed itself.
	m := incomplete(4, "first <@1>")
	m.Attachments = []chat.Attachment{{Kind: "file", Name: "secret.txt\xff"}}
	deliverOnly(t, c, m)
	was = incompletes(t, c, "first <@1>")[0]
	for i, text := range []string{"first <@1>", "second <@1>"} { // the first takes the attachment away
		now := editedLater(4, text, i+1)
		now.Incomplete = true
		check.That(t, changed(t, c, now), "%s is no edit", text)
	}
	full = was
	full.Text = "first @Ann"
	check.NoError(t, c.Inbox().Complete(ctx, was, full))
	again := incompletes(t, c, "second <@1>")[0]
	check.Len(t, "attachments", again.Attachments, 0)
	full = again
	full.Text = "second @Ann"
	check.NoError(t, c.Inbox().Complete(ctx, again, full))
	check.EqualAll(t, "dequeued", texts(deliver(t, c)), []string{"second @Ann"})
	// A message deleted during completion stays deleted, and one addressed is answered.
	deliverOnly(t, c, incomplete(5, "x"), incomplete(6, "y"))
	both := incompletes(t, c, "x", "y")
	remove(t, c, 5)
	deliverOnly(t, c, asking(6, "y"))
	full = both[0]
	full.Attachments = []chat.Attachment{{Kind: "image", Type: "image/png", Data: []byte("png")}}
	check.NoError(t, c.Inbox().Complete(ctx, both[0], full))
	check.NoError(t, c.Inbox().Complete(ctx, both[1], both[1]))
	check.Equal(t, "files left", number(t, c.Store(), "SELECT count(*) FROM files"), 0)
	taken = deliver(t, c)
	check.That(t, len(taken) == 1 && taken[0].ID == "m6" && taken[0].Addressed, "got dequeued %+v", taken)
	// A redelivery adds files, once.
	deliverOnly(t, c, said(7, "look"))
	m = incomplete(7, "look")
	m.Attachments = []chat.Attachment{{Kind: "file", Name: "a.txt", Size: 3}}
	deliverOnly(t, c, m, m)
	check.Len(t, "attachments", incompletes(t, c, "look")[0].Attachments, 1)
}

func TestAttemptsSurviveRestart(t *testing.T) {
	c := newTalk(t)
	deliverOnly(t, c, incomplete(1, "a"), incomplete(2, "b"))
	tries := func(first, second int) []store.Inbound {
		t.Helper()
		found := check.Must(c.Inbox().Incomplete(ctx))(t)
		check.Require(t, len(found) == 2 && found[0].Tries == first && found[1].Tries == second, "got %+v", found)
		return found
	}
	check.NoError(t, c.Inbox().Try(ctx, tries(0, 0)[:1]))
	check.Equal(t, "tries of the past", check.Must(c.Inbox().TryPast(ctx))(t), 0)
	c = reopen(t, c)
	check.NoError(t, c.Inbox().Try(ctx, tries(1, 0)))
	check.Equal(t, "tries of the past", check.Must(c.Inbox().TryPast(ctx))(t), 1)
	deliverOnly(t, c, incomplete(1, "a")) // a redelivery is nothing new
	tries(2, 1)
	edited := editedLater(1, "c", 1)
	edited.Incomplete = true
	changed(t, c, edited)
	tries(0, 1)
}

func withPicture(n int, data string) store.Inbound {
	m := said(n, "look")
	m.Attachments = []chat.Attachment{
		{Kind: "image", Name: "cat.png", Type: "image/png", Size: int64(len(data)), Data: []byte(data)},
		{Kind: "file", Name: "a.zip", Size: 9},
	}
	return m
}

func TestFiles(t *testing.T) {
	picture := withPicture(1, "data")
	for way, let := range map[string]func(c *store.Conversation) []chat.Message{
		"delivered": func(c *store.Conversation) []chat.Message { return deliver(t, c, picture) },
		"completed": func(c *store.Conversation) []chat.Message {
			deliverOnly(t, c, incomplete(1, "look"))
			check.NoError(t, c.Inbox().Complete(ctx, incompletes(t, c, "look")[0], picture))
			return deliver(t, c)
		},
		"read back": func(c *store.Conversation) []chat.Message {
			check.NoError(t, c.Past().Backfill(ctx, []store.Inbound{picture}))
			return deliver(t, c)
		},
		"edited": func(c *store.Conversation) []chat.Message {
			deliver(t, c, said(1, "before"))
			changed(t, c, editedLater(1, "look", 1, picture.Attachments...))
			return []chat.Message{message(t, c, 1)}
		},
	} {
		c := newTalk(t)
		returned := let(c)
		m := message(t, c, 1)
		files := m.Attachments
		check.Require(t, len(files) == 2 && files[0].File != 0 && files[0].Data == nil && files[1].File == 0, "%s: got %+v", way, m)
		check.That(t, reflect.DeepEqual(returned[0], m), "%s: returned %+v, stored %+v", way, returned, m)
		kind, data, err := c.Transcript().File(ctx, files[0].File)
		check.NoError(t, err)
		check.Equal(t, way, kind+" "+string(data), "image/png data")
	}
	file := func(c *store.Conversation, id int64) string {
		_, data, err := c.Transcript().File(ctx, id)
		return map[bool]string{true: string(data), false: fmt.Sprint(err)}[err == nil]
	}
	t.Run("a file belongs to one conversation", func(t *testing.T) {
		c := newTalk(t)
		other := find(t, c.Store(), "terminal:other")
		deliver(t, c, withPicture(1, "mine"))
		for _, id := range []int64{1, 0, -1, 1 << 40} {
			check.Contains(t, fmt.Sprint("file ", id), file(other, id), store.ErrNotFound.Error())
		}
		theirs := deliver(t, other, withPicture(1, "theirs"))
		remove(t, c, 1)
		check.Equal(t, "the other's file", file(other, theirs[0].Attachments[0].File), "theirs")
		check.Equal(t, "files", number(t, c.Store(), "SELECT count(*) FROM files"), 1)
	})
	t.Run("an edit keeps the picture, or deletes it with its attachment", func(t *testing.T) {
		for _, put := range waitsOrNot {
			c := newTalk(t)
			put(t, c, picture)
			files := withPicture(1, "data").Attachments
			files[0].Data = nil
			files[0].URL = "https://x.test/new"
			check.Equal(t, "a new address is an edit", changed(t, c, editedLater(1, "look", 1, files...)), false)
			files[1].Name = "b.zip"
			check.Equal(t, "edited", changed(t, c, editedLater(1, "look here", 2, files...)), true)
			check.Equal(t, "the picture", file(c, 1), "data")
			check.Equal(t, "edited", changed(t, c, editedLater(1, "look there", 3)), true)
			check.Contains(t, "without the attachment", file(c, 1), store.ErrNotFound.Error())
			deliver(t, c)
			check.That(t, message(t, c, 1).Text == "look there" && message(t, c, 1).Attachments == nil, "got %+v", message(t, c, 1))
		}
	})
}
