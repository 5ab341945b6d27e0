package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/compactor"
)

// told is a conversation of nine messages, of which the fifth holds a secret.
func told(t *testing.T) *Conversation {
	t.Helper()
	c := newConversation(t)
	var all []Inbound
	for n := range 9 {
		text := fmt.Sprintf("I bought %d red bicycles in Turin.", n+1)
		if n == 4 {
			text = "I bought a " + secret + " in Rome."
		}
		all = append(all, said(n+1, text))
	}
	if _, err := c.Import(ctx, all); err != nil {
		t.Fatal(err)
	}
	return c
}

// sumUp begins a row and stores a summary with the given text.
func sumUp(t *testing.T, c *Conversation, kind compactor.Kind, by compactor.By, from, to int64, text string, children ...int64) int64 {
	t.Helper()
	j := begin(t, c, kind, by, from, to, children...)
	if _, err := j.Store(ctx, compactor.Summary{Text: text, Tokens: 30}); err != nil {
		t.Fatal(err)
	}
	return j.ID()
}

const long = " Much more was said about bicycles, about Turin and about the weather there, which was fine on most of the days, and about lunch."

func rowsOf(t *testing.T, c *Conversation, state compactor.RowState) (found []compactor.Compaction) {
	t.Helper()
	err := c.store.view(ctx, func(tx *transaction) (err error) {
		found, err = c.compactions(tx, "AND state = ? ORDER BY to_seq, id", state)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestWhatIsOnItsWayOverAChangedMessage(t *testing.T) {
	changes := map[string]func(c *Conversation){
		"edited":  func(c *Conversation) { edit(t, c, 5, "I bought nothing.") },
		"deleted": func(c *Conversation) { remove(t, c, 5) },
	}
	for name, change := range changes {
		t.Run("what is staged is stale once it was "+name, func(t *testing.T) {
			c := told(t)
			over := sumUp(t, c, leaf, worker, 1, 6, "The "+secret+"."+long)
			beside := sumUp(t, c, leaf, worker, 7, 9, "Bicycles.")
			change(c)
			if staged := load(t, c).Staged; !slices.Equal(ids(staged), []int64{beside}) {
				t.Errorf("staged are %v", ids(staged))
			}
			wantNoSecret(t, c)
			if _, landed := land(t, c, over, beside); landed[0].State != compactor.Stale || landed[1].State != compactor.Staged {
				t.Errorf("messages 7 to 9 are hidden, and older ones stand below: landed %+v", landed)
			}
			if head, landed := land(t, c, beside, sumUp(t, c, leaf, worker, 1, 6, "More.")); shape(head.Stack) != "leaf worker 1-6, leaf worker 7-9" {
				t.Errorf("landed %+v", landed)
			}
		})
		t.Run("what is running when it was "+name+" stores nothing", func(t *testing.T) {
			c := told(t)
			j := begin(t, c, leaf, worker, 1, 6)
			if _, err := call(j.Tools(9), "memory_save", `{"content": "Ann bought a `+secret+`.", "kind": "fact", "messages": [5]}`); err != nil {
				t.Fatal(err)
			}
			change(c)
			saved, err := j.Store(ctx, compactor.Summary{Text: "The " + secret + "." + long, Tokens: 30, Sources: []int64{5}})
			if err != nil || saved != nil {
				t.Errorf("%+v, %v", saved, err)
			}
			wantNoSecret(t, c)
			if _, landed := land(t, c, j.ID()); landed[0].State != compactor.Stale {
				t.Errorf("it is %s", landed[0].State)
			}
			// Nothing was saved, so that the next worker may.
			heal(t, c, worker, 1, 6, "Ann bought bicycles.", 1)
			if got := contents(t, c); !slices.Equal(got, []string{"fact: Ann bought bicycles."}) {
				t.Errorf("memories are %q", got)
			}
		})
	}
	t.Run("a job that begins after the change reads what is there, and lands", func(t *testing.T) {
		c := told(t)
		remove(t, c, 5)
		head, _ := land(t, c, stage(t, c, leaf, worker, 1, 6))
		if shape(head.Stack) != "leaf worker 1-6" || head.Stack[0].Messages != 5 {
			t.Errorf("%+v", head.Stack)
		}
	})
	t.Run("a fold that was planned before the change does not land", func(t *testing.T) {
		c := told(t)
		land(t, c, sumUp(t, c, leaf, worker, 1, 5, "The "+secret+"."+long), sumUp(t, c, leaf, worker, 6, 9, "Bicycles."))
		planned := ids(load(t, c).Head.Stack)
		remove(t, c, 5)
		fold := sumUp(t, c, rollup, worker, 1, 9, "A "+secret+" and bicycles.", planned...)
		if head, landed := land(t, c, fold); landed[0].State != compactor.Stale || shape(head.Stack) != "leaf built-in 1-5, leaf worker 6-9" {
			t.Errorf("landed %+v, stack %s", landed, shape(head.Stack))
		}
		wantNoSecret(t, c)
		checkCoverage(t, c)
	})
}

func TestSummariesOverADeletedMessage(t *testing.T) {
	t.Run("a worker's is replaced by one of what remains, no longer, to be healed", func(t *testing.T) {
		c := told(t)
		text := "Ann bought bicycles, and a " + secret + "." + long
		land(t, c, sumUp(t, c, leaf, worker, 1, 6, text), sumUp(t, c, leaf, worker, 7, 9, "Bicycles."))
		before := load(t, c).Head
		remove(t, c, 5)
		head := load(t, c).Head
		if shape(head.Stack) != "leaf built-in 1-6, leaf worker 7-9" || head.Generation != before.Generation+1 {
			t.Fatalf("stack %s, generation %d after %d", shape(head.Stack), head.Generation, before.Generation)
		}
		row := head.Stack[0]
		if row.ID == before.Stack[0].ID || !row.NeedsRepair() || row.Messages != 5 || row.Tokens != compactor.TokensOfCompaction(row) ||
			compactor.Estimate(row.Text) > max(compactor.Estimate(text), minStandIn) || !strings.Contains(row.Text, "bicycles") || slices.Contains(row.Sources, 5) || len(row.Sources) == 0 {
			t.Errorf("the row is %+v", row)
		}
		if head.Stack[1].ID != before.Stack[1].ID {
			t.Error("the one beside it was replaced too")
		}
		wantNoSecret(t, c)
		checkCoverage(t, c)
		heal(t, c, worker, 1, 6, "Ann bought bicycles.", 1)
		if got := shape(load(t, c).Head.Stack); got != "leaf worker 1-6, leaf worker 7-9" {
			t.Errorf("healed: %s", got)
		}
	})
	t.Run("a built-in one is made anew", func(t *testing.T) {
		c := told(t)
		j := begin(t, c, leaf, builtIn, 1, 6)
		if _, err := j.Store(ctx, compactor.Summary{Text: "Ann: I bought a " + secret + " in Rome." + long, Sources: []int64{2, 5}}); err != nil {
			t.Fatal(err)
		}
		land(t, c, j.ID())
		remove(t, c, 5)
		wantNoSecret(t, c)
		if row := load(t, c).Head.Stack[0]; !slices.Equal(row.Sources, []int64{2}) || row.Messages != 5 {
			t.Errorf("the row is %+v", row)
		}
	})
	t.Run("behind a rollup all that speaks of it goes, and the other children's texts are used", func(t *testing.T) {
		c := told(t)
		land(t, c, sumUp(t, c, leaf, worker, 1, 3, "Ann collects old maps."), sumUp(t, c, leaf, worker, 4, 5, "Bob bought a "+secret+"."), sumUp(t, c, leaf, worker, 6, 7, "They went home."))
		stack := load(t, c).Head.Stack
		land(t, c, sumUp(t, c, rollup, worker, 1, 5, "Maps, and a "+secret+".", ids(stack[:2])...))
		stack = load(t, c).Head.Stack
		land(t, c, sumUp(t, c, rollup, worker, 1, 7, "Maps, a "+secret+", home."+long, ids(stack)...))
		remove(t, c, 5)
		wantNoSecret(t, c)
		checkCoverage(t, c)
		head := load(t, c).Head
		row := head.Stack[0]
		if shape(head.Stack) != "rollup built-in 1-7" || row.Messages != 6 || !strings.Contains(row.Text, "maps") || !strings.Contains(row.Text, "home") || !strings.Contains(row.Text, "bicycles") {
			t.Errorf("the stack is %+v", head.Stack)
		}
		for _, folded := range rowsOf(t, c, compactor.Folded) {
			if over := folded.Covers(5); over != folded.NeedsRepair() || over != (folded.Text == "") {
				t.Errorf("the child over %d to %d by %s has the text %q", folded.From, folded.To, folded.By, folded.Text)
			}
			if folded.Tokens != compactor.TokensOfCompaction(folded) && folded.Covers(5) {
				t.Errorf("the child over %d to %d costs %d", folded.From, folded.To, folded.Tokens)
			}
		}
		job := begin(t, c, rollup, worker, 1, 7)
		children, err := job.Children(ctx, row.ID)
		if err != nil || shape(children) != "rollup built-in 1-5, leaf worker 6-7" {
			t.Errorf("it is healed from %s, %v", shape(children), err)
		}
	})
	t.Run("behind a fold by the built-in summarizer what a worker wrote is told again", func(t *testing.T) {
		c := told(t)
		land(t, c, sumUp(t, c, leaf, worker, 1, 3, "Ann collects old maps."), sumUp(t, c, leaf, worker, 4, 5, "Bob bought a "+secret+"."))
		j := begin(t, c, rollup, builtIn, 1, 5, ids(load(t, c).Head.Stack)...)
		if _, err := j.Store(ctx, compactor.Summary{Text: "Old maps, and a " + secret + "." + long, Sources: []int64{0}}); err != nil {
			t.Fatal(err)
		}
		land(t, c, j.ID())
		remove(t, c, 5)
		wantNoSecret(t, c)
		if row := load(t, c).Head.Stack[0]; !strings.Contains(row.Text, "maps") || !strings.Contains(row.Text, "bicycles") || !slices.Equal(row.Sources, []int64{0, 4}) {
			t.Errorf("the row is %+v", row)
		}
	})
	t.Run("a marker holds one message less", func(t *testing.T) {
		c := told(t)
		hide(t, c, 1, 9)
		remove(t, c, 5, 9)
		if row := load(t, c).Head.Stack[0]; row.Kind != compactor.Marker || row.Messages != 7 || row.Text != "" || row.Tokens != compactor.TokensOfCompaction(row) {
			t.Errorf("the row is %+v", row)
		}
	})
	t.Run("one of which nothing remains says so", func(t *testing.T) {
		c := told(t)
		hide(t, c, 1, 3)
		land(t, c, sumUp(t, c, leaf, worker, 4, 5, "The "+secret+"."))
		remove(t, c, 4, 5)
		if row := load(t, c).Head.Stack[1]; row.Messages != 0 || row.Text == "" {
			t.Errorf("the row is %+v", row)
		}
		checkCoverage(t, c)
	})
	t.Run("whatever has become of a row, its text goes", func(t *testing.T) {
		c := told(t)
		for _, state := range []string{"replaced", "undone", "failed", "stale"} {
			id := sumUp(t, c, leaf, worker, 1, 6, "The "+secret+" "+state)
			run(t, c.store, "UPDATE compactions SET state = ? WHERE id = ?", state, id)
		}
		remove(t, c, 5)
		wantNoSecret(t, c)
	})
	t.Run("a quote that goes is no longer summed up either", func(t *testing.T) {
		c := newConversation(t)
		m := said(1, "I disagree")
		m.ReplyTo, m.Quote = "m0", "Bob: the "+secret
		deliver(t, c, m, said(2, "b"))
		land(t, c, sumUp(t, c, leaf, worker, 1, 2, "Ann disagrees about the "+secret))
		if _, err := c.Delete(ctx, []string{"m0"}); err != nil {
			t.Fatal(err)
		}
		wantNoSecret(t, c)
		if got := shape(load(t, c).Head.Stack); got != "leaf built-in 1-2" {
			t.Errorf("stack %s", got)
		}
	})
}

func TestSummariesOverAnEditedMessage(t *testing.T) {
	t.Run("a worker's stays in words, and is to be healed", func(t *testing.T) {
		c := told(t)
		land(t, c, sumUp(t, c, leaf, worker, 1, 6, "Ann bought something in Rome."+long))
		was := load(t, c).Head.Stack[0]
		edit(t, c, 5, "I bought something in Milan.")
		row := load(t, c).Head.Stack[0]
		if row.Text != was.Text || row.Tokens != compactor.TokensOfCompaction(was) || row.Messages != 6 || !row.NeedsRepair() || row.ID == was.ID {
			t.Errorf("the row is %+v, was %+v", row, was)
		}
		if len(row.Sources) == 0 {
			t.Error("a fold of it would find nothing")
		}
	})
	t.Run("a built-in one is made anew", func(t *testing.T) {
		c := told(t)
		hide(t, c, 1, 4)
		j := begin(t, c, leaf, builtIn, 5, 6)
		if _, err := j.Store(ctx, compactor.Summary{Text: "Ann: I bought a " + secret + " in Rome." + long, Sources: []int64{5}}); err != nil {
			t.Fatal(err)
		}
		land(t, c, j.ID())
		edit(t, c, 5, "I bought something in Milan.")
		if row := load(t, c).Head.Stack[1]; !strings.Contains(row.Text, "Milan") || strings.Contains(row.Text, secret) {
			t.Errorf("the row is %+v", row)
		}
	})
	t.Run("behind a rollup it is marked all the way, and nothing beside it", func(t *testing.T) {
		c := told(t)
		land(t, c, sumUp(t, c, leaf, worker, 1, 3, "maps"), sumUp(t, c, leaf, worker, 4, 6, "Rome"))
		land(t, c, sumUp(t, c, rollup, worker, 1, 6, "maps, Rome", ids(load(t, c).Head.Stack)...))
		edit(t, c, 5, "I bought something in Milan.")
		if got := shape(load(t, c).Head.Stack); got != "rollup built-in 1-6" {
			t.Errorf("stack %s", got)
		}
		if got := shape(rowsOf(t, c, compactor.Folded)); got != "leaf worker 1-3, leaf built-in 4-6" {
			t.Errorf("folded are %s", got)
		}
		checkCoverage(t, c)
	})
}

func BenchmarkChange(b *testing.B) {
	b.Run("edit what is verbatim", func(b *testing.B) {
		c := old(b, b.TempDir(), 100_000)
		m := said(100_000, "")
		for i := 0; b.Loop(); i++ {
			m.Text, m.Time = fmt.Sprint("other words ", i), m.Time.Add(1e9)
			if _, changed, err := c.Edit(ctx, m); !changed || err != nil {
				b.Fatal(changed, err)
			}
		}
	})
	b.Run("delete behind a summary of 1000 messages", func(b *testing.B) {
		c := old(b, b.TempDir(), 10_100)
		for i := 1; b.Loop(); i++ {
			if len(remove(b, c, i)) == 0 {
				b.Fatal("no more")
			}
		}
	})
}
