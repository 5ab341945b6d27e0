package memory

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/transcript"
)

const (
	general = "discord:1/2"
	inside  = "discord:1/2/m8" // a thread of it, on its eighth message
)

// channelOf returns a channel with nine messages and summaries over the first six.
func channelOf(t *testing.T, s *Store) *Conversation {
	t.Helper()
	c := find(t, s, general)
	for n := range 9 {
		text := "I bought red bicycles in Turin."
		if n == 4 {
			text = "I bought a " + secret + " in Rome."
		}
		deliver(t, c, said(n+1, text))
	}
	applyRows(t, c, sumUp(t, c, transcript.Leaf, transcript.Worker, 1, 3, "Bicycles were bought."), sumUp(t, c, transcript.Leaf, transcript.Worker, 4, 6, "Bicycles and a "+secret+" were bought."+long))
	return c
}

// thread returns a thread of the channel that has a message.
func thread(t *testing.T, s *Store, root string) *Conversation {
	t.Helper()
	c := find(t, s, general+"/"+root)
	deliver(t, c, said(1, "what do you think?"))
	return c
}

func TestInherit(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	above := channelOf(t, s)
	c := find(t, s, inside)
	before := load(t, c).Head
	if before.Inherited.Root != nil || len(before.Inherited.Stack) > 0 {
		t.Error("it has inherited before anything was said")
	}
	deliver(t, c, said(1, "what do you think?"))
	head := load(t, c).Head
	in := head.Inherited
	if head.Version <= before.Version || shape(in.Stack) != "leaf  1-3, leaf  4-6" || !strings.Contains(in.Stack[1].Text, secret) || in.Stack[0].Tokens != in.Stack[0].InheritedCost() {
		t.Errorf("inherited are %+v", in.Stack)
	}
	if in.Root == nil || in.Root.Text != "I bought red bicycles in Turin." || in.Root.Author != "Ann" || !in.Root.Time.Equal(said(8, "").Time) {
		t.Errorf("it hangs on %+v", in.Root)
	}
	check.Equal(t, "nobody knows whose thread it is", number(t, s, "SELECT count(*) FROM conversations WHERE name = ? AND parent = ?", inside, above.id), 1)
	t.Run("once", func(t *testing.T) {
		applyRows(t, above, sumUp(t, above, transcript.Leaf, transcript.Worker, 7, 7, "More."))
		edit(t, above, 8, "I bought nothing.")
		edit(t, above, 2, "I bought nothing.")
		deliver(t, c, said(2, "more"))
		if !reflect.DeepEqual(load(t, c).Head, head) {
			t.Error("a later change reached it")
		}
		if s.Close(); !reflect.DeepEqual(load(t, find(t, openStore(t, dir), inside)).Head, head) {
			t.Error("a restart changed it")
		}
	})
}

func TestWhatAThreadHangsOn(t *testing.T) {
	s := openStore(t, t.TempDir())
	above := channelOf(t, s)
	t.Run("the bot's reply, by what it was sent as", func(t *testing.T) {
		m := said(10, "what time is it?")
		m.Addressed = true
		turn := deliver(t, above, m)[0].Seq
		reply := chat.Message{Seq: turn + 1, Turn: turn, Role: "assistant", ID: "reply-11", Text: "half past nine", Time: day}
		check.NoError(t, above.Turns().Finish(ctx, Outcome{Turn: turn, Messages: []chat.Message{reply}, Reply: "reply-11", Pieces: []string{"half past nine"}}))
		run(t, s, "UPDATE outbox SET state = 'sent', platform_id = 'p1' WHERE reply = 'reply-11'")
		if root := load(t, thread(t, s, "p1")).Head.Inherited.Root; root == nil || root.Role != "assistant" || root.Text != "half past nine" {
			t.Errorf("it hangs on %+v", root)
		}
	})
	t.Run("one that waits yet, until it is deleted", func(t *testing.T) {
		deliverOnly(t, above, said(12, "waits"))
		c := thread(t, s, "m12")
		if root := load(t, c).Head.Inherited.Root; root == nil || root.Text != "waits" {
			t.Errorf("it hangs on %+v", root)
		}
		remove(t, above, 12)
		if root := load(t, c).Head.Inherited.Root; root != nil {
			t.Errorf("it hangs on %+v", root)
		}
	})
	t.Run("none that is known", func(t *testing.T) {
		c := thread(t, s, "m99")
		if in := load(t, c).Head.Inherited; in.Root != nil || len(in.Stack) != 2 {
			t.Errorf("inherited are %+v", in)
		}
	})
	t.Run("nothing where nobody was heard above", func(t *testing.T) {
		for _, name := range []string{"discord:1/7/8", "discord:1/8", "terminal:8"} {
			c := find(t, s, name)
			deliver(t, c, said(1, "hello"))
			if in := load(t, c).Head.Inherited; in.Root != nil || len(in.Stack) > 0 {
				t.Errorf("%s inherited %+v", name, in)
			}
		}
	})
	t.Run("what is read back of the past may be its first message", func(t *testing.T) {
		c := find(t, s, general+"/m7")
		check.Must(c.Past().Backfill(ctx, []Inbound{said(1, "before the bot came")}))(t)
		if in := load(t, c).Head.Inherited; in.Root == nil || len(in.Stack) != 2 {
			t.Errorf("inherited are %+v", in)
		}
	})
	t.Run("what was left behind above with /new does not come along", func(t *testing.T) {
		startSession(t, above)
		if in := load(t, thread(t, s, "m9")).Head.Inherited; in.Root == nil || len(in.Stack) != 0 {
			t.Errorf("inherited are %+v", in)
		}
	})
}

func TestDeletionsReachThreads(t *testing.T) {
	s := openStore(t, t.TempDir())
	above := channelOf(t, s)
	quoting := said(10, "indeed")
	quoting.ReplyTo, quoting.Quote = "elsewhere", `Bob: "a `+secret+`"`
	deliver(t, above, quoting)
	c, other, third := thread(t, s, "m5"), thread(t, s, "m8"), thread(t, s, "m10")
	// In the channel, the rows have changed in the meantime.
	rows := load(t, above).Head.Stack
	applyRows(t, above, sumUp(t, above, transcript.Rollup, transcript.Worker, 1, 6, "Many things, and a "+secret, ids(rows)...))
	versions := map[*Conversation]int64{c: 0, other: 0, third: 0}
	for one := range versions {
		versions[one] = load(t, one).Head.Version
	}
	if root := load(t, third).Head.Inherited.Root; root == nil || !strings.Contains(root.Quote, secret) {
		t.Fatalf("the third hangs on %+v", root)
	}
	check.Must(PrivacyOf(above).Delete(ctx, []string{"elsewhere"}))(t)
	if root := load(t, third).Head.Inherited.Root; root == nil || root.Quote != "" {
		t.Errorf("the quote stays: %+v", root)
	}
	remove(t, above, 5)
	for one, version := range versions {
		head := load(t, one).Head
		if head.Version <= version {
			t.Errorf("%s is not told", one.name)
		}
		row := head.Inherited.Stack[1]
		if row.Kind != transcript.Placeholder || row.Messages != 2 || row.Tokens != row.InheritedCost() || row.Text != "" || head.Inherited.Stack[0].Text != "Bicycles were bought." {
			t.Errorf("%s has %+v", one.name, head.Inherited.Stack)
		}
	}
	if root := load(t, c).Head.Inherited.Root; root != nil {
		t.Errorf("it still hangs on %+v", root)
	}
	if root := load(t, other).Head.Inherited.Root; root == nil {
		t.Error("another thread has lost what it hangs on")
	}
	if all := dump(t, s); strings.Contains(all, secret) {
		t.Error("the secret is kept somewhere")
	}
	t.Run("quotes of the message it hangs on go, waiting or taken up", func(t *testing.T) {
		deliver(t, above, said(11, "a "+secret))
		c := find(t, s, general+"/m11")
		for n := 1; n <= 2; n++ {
			m := said(n, "really?")
			m.ReplyTo, m.Quote = "m11", `Bob: "a `+secret+`"`
			deliverOnly(t, c, m)
			if n == 1 {
				check.Must(c.Inbox().TakeUp(ctx, All, 1<<30, time.Time{}))(t)
			}
		}
		remove(t, above, 11)
		if all := dump(t, s); strings.Contains(all, secret) {
			t.Errorf("the secret is kept somewhere:\n%s", all[strings.Index(all, secret)-200:])
		}
	})
	t.Run("in the same transaction", func(t *testing.T) {
		before := dump(t, s)
		run(t, s, "CREATE TEMP TRIGGER stop BEFORE UPDATE ON inherited BEGIN SELECT raise(ABORT, 'no'); END")
		if _, err := PrivacyOf(above).Delete(ctx, []string{"m4"}); err == nil || dump(t, s) != before {
			t.Errorf("half of a deletion was made: %v", err)
		}
		run(t, s, "DROP TRIGGER stop")
	})
	t.Run("a copy of a rollup becomes a placeholder", func(t *testing.T) {
		late := thread(t, s, "none")
		remove(t, above, 2)
		in := load(t, late).Head.Inherited
		if len(in.Stack) != 1 || in.Stack[0].Messages != 4 || in.Stack[0].Kind != transcript.Placeholder {
			t.Errorf("it has %+v", in.Stack)
		}
	})
}

func TestARepairReachesThreads(t *testing.T) {
	s := openStore(t, t.TempDir())
	above := channelOf(t, s)
	c := thread(t, s, "m8")
	remove(t, above, 5)
	before := load(t, c).Head.Version
	repair := func(text string) {
		t.Helper()
		j := check.Must(MemoriesOf(above).Records().Begin(ctx, transcript.Summary{
			Kind: transcript.Leaf, By: transcript.Worker, State: transcript.Running, Trigger: transcript.OnRepair, Span: transcript.Span{From: 4, To: 6}, Messages: 2,
		}))(t)
		check.Must(j.Store(ctx, summarize.Summary{Text: text, Tokens: 30}))(t)
		applyRows(t, above, j.ID())
	}
	repair("Bicycles were bought again.")
	head := load(t, c).Head
	if row := head.Inherited.Stack[1]; row.Kind != transcript.Leaf || row.Text != "Bicycles were bought again." || row.Messages != 2 || row.Tokens != row.InheritedCost() {
		t.Errorf("the thread has %+v", row)
	}
	if head.Version <= before {
		t.Error("the thread has not noticed")
	}
}
