package channel_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/compactor/summarize"
	"cairn/memory"
)

var (
	ada  = channel.Person{ID: "u1", Name: "Ada"}
	bo   = channel.Person{ID: "u2", Name: "Bo"}
	fake = channel.Person{ID: "u3", Name: "Ada"} // who uses Ada's name
	boss = channel.Person{ID: "u9", Name: "Boss", Manager: true}
)

func TestForgetCommand(t *testing.T) {
	r := newRig(t, echo)
	says := func(who channel.Person, line, want string) {
		t.Helper()
		check.Contains(t, line+" by "+who.ID, r.runAs(who, place, line).String(), want)
	}
	for _, fact := range []string{"the standup is at 9:30", "Ada drinks green tea", "Ada drinks black coffee", "the garden has 9 beds"} {
		says(ada, "/remember "+fact, "I will remember that")
	}
	t.Run("another person may not, under any name", func(t *testing.T) {
		for _, who := range []channel.Person{bo, fake, {}} {
			for _, line := range []string{"/forget 1", "/forget #1", "/memories pin 1", "/memories restore 1"} {
				says(who, line, "neither came from you nor is about you")
			}
		}
	})
	t.Run("the author may, and sees what remains and how to undo it", func(t *testing.T) {
		got := r.runAs(ada, place, "/forget 1").String()
		check.Contains(t, "answer", got, "Memory 1 is forgotten: the standup is at 9:30", "The messages it came from remain", "/memories restore 1", "cairn memories purge 1")
		says(ada, "/forget 1", "Memory 1 is forgotten, so this changes nothing")
		says(ada, "/memories standup", "no memories")
		says(bo, "/memories restore 1", "neither came from you")
		says(ada, "/memories restore 1", "is restored")
		says(ada, "/memories restore 1", "Memory 1 is active, so this changes nothing")
		says(ada, "/memories standup", "9:30")
	})
	t.Run("a manager may forget any memory", func(t *testing.T) {
		says(boss, "/forget 1", "is forgotten")
		says(ada, "/remember The STANDUP is at 9:30", "as memory 5")
		says(boss, "/memories restore 1", "another one now says the same")
	})
	t.Run("words list the memories to choose from, and forget none", func(t *testing.T) {
		got := r.runAs(ada, place, "/forget drinks")
		check.Equal(t, "text above the list", got.Text, "Say which one by its number: /forget 12.")
		check.Len(t, "got.Items", got.Items, 2)
		says(ada, "/forget green tea", "(2) fact: Ada drinks green tea")
		says(ada, "/forget bicycles", "no memories like that")
		says(ada, "/forget 2", "Memory 2 is forgotten: Ada drinks green tea")
		for _, line := range []string{"/forget restore 2", "/forget garden", `/forget "`, "/forget %", "/forget *", "/forget '; DROP TABLE memories; --", "/forget the", "/forget -1", "/forget 99999999999999999999"} {
			check.Lacks(t, line, r.runAs(ada, place, line).String(), "is forgotten")
		}
		says(ada, "/memories garden", "9 beds")
	})
	t.Run("a memory of another conversation is not found", func(t *testing.T) {
		for _, line := range []string{"/forget 4", "/memories pin 4", "/memories restore 2"} {
			check.Contains(t, line, r.runAs(boss, "test:server/other", line).String(), "one from another is changed there")
		}
		check.Contains(t, "answer", r.runAs(boss, "test:server/other", "/forget garden").String(), "no memories")
	})
	t.Run("others may forget what they said about a person", func(t *testing.T) {
		r.say("hello", false)
		r.waitForReplies()
		c := check.Must(r.store.Find(t.Context(), place))(t)
		s, err := memory.Of(c).Keep(t.Context(), memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "Ada has a scar", About: "ada"}, Person: "Bo", PersonID: "u2"})
		check.Require(t, err == nil && s.AboutID == "u1", "%+v, %v", s, err)
		says(fake, fmt.Sprintf("/forget %d", s.ID), "neither came from you")
		says(ada, fmt.Sprintf("/forget %d", s.ID), "is forgotten")
	})
	t.Run("only managers may if the command is restricted", func(t *testing.T) {
		r.hub.Renew(channel.Rules{Restricted: []string{"forget"}})
		says(ada, "/forget 4", "for people who manage this place")
		says(boss, "/forget 4", "is forgotten")
	})
}

func TestMemoriesCommand(t *testing.T) {
	r := newRig(t, echo)
	for i := range 25 {
		r.runAs(ada, place, fmt.Sprintf("/remember the garden has %d beds", i+100))
	}
	r.say("I decided to move", false)
	r.waitForReplies()
	c := check.Must(r.store.Find(t.Context(), place))(t)
	check.Must(memory.Of(c).Keep(t.Context(), memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "decision", Content: "Ada moves to Bergen", Messages: []int64{1}, About: "Ada"}, Person: "Bo"}))(t)
	t.Run("the list shows number, kind, author, time and subject, in pages", func(t *testing.T) {
		got := r.runAs(bo, place, "/memories")
		check.Len(t, "items", got.Items, 26)
		check.Equal(t, "items", got.Pages(), 3)
		check.Contains(t, "page 2", got.Page(2), "page 3 of 3")
		got = r.runAs(bo, place, "/memories Bergen")
		check.Len(t, "items", got.Items, 1)
		check.HasPrefix(t, "first item", got.Items[0], "(26) decision: Ada moves to Bergen (Bo, about Ada, ")
	})
	t.Run("the list can be filtered by kind and words", func(t *testing.T) {
		for line, want := range map[string]int{
			"/memories kind:decision": 1, "/memories KIND:Fact": 25, "/memories kind:fact Bergen": 0, "/memories Bergen kind:decision": 1, "/memories kind:todo": 0,
		} {
			if got := r.runAs(bo, place, line); len(got.Items) != want {
				t.Errorf("%s: %q", line, got.String())
			}
		}
		check.Contains(t, "answer to /memories kind:rumour", r.runAs(bo, place, "/memories kind:rumour").String(), `no kind of memory called "rumour"`, "identity, goal")
	})
	t.Run("pinned memories are marked, and expired ones listed", func(t *testing.T) {
		check.Contains(t, "answer", r.runAs(boss, place, "/memories pin 26").String(), "neither expires nor fades")
		check.Contains(t, "answer", r.runAs(bo, place, "/memories Bergen").String(), "pinned)")
		check.Contains(t, "answer", r.runAs(boss, place, "/memories unpin 26").String(), "no longer")
		check.Lacks(t, "answer to /memories pinned beds", r.runAs(bo, place, "/memories pinned beds").String(), "pinned)")
	})
	t.Run("a truncated list says so", func(t *testing.T) {
		for i := range 200 {
			check.Must(memory.Of(c).Keep(t.Context(), memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: fmt.Sprintf("row %d", i)}, Person: "Ada", PersonID: "u1"}))(t)
		}
		if got := r.runAs(bo, place, "/memories"); len(got.Items) != 200 || !strings.HasPrefix(got.Text, "1 to 200 of 226. ") || !strings.HasSuffix(got.Text, "page:2.") {
			t.Errorf("got %d items under %q", len(got.Items), got.Text)
		}
		got := r.runAs(bo, place, "/memories page:2")
		check.Len(t, "items", got.Items, 26)
		check.Equal(t, "items", got.Text, "201 to 226 of 226. Narrow it with words or kind:KIND.")
		if got := r.runAs(bo, place, "/memories row page:-1").Items; len(got) == 0 { // ordinary search words
			t.Errorf("got %d items", len(got))
		}
	})
}

func TestRememberForServer(t *testing.T) {
	const other, private, direct = "test:server/other", "test:server/private", "test:@me/1"
	r := newRig(t, echo)
	for name, audience := range map[string]channel.Audience{place: channel.ServerWide, other: channel.ServerWide, private: channel.Members, direct: channel.ServerWide} {
		m := r.inbound("hello", false)
		m.Audience = audience
		check.Must(r.hub.Deliver(t.Context(), name, m))(t)
	}
	says := func(place, line, want string) {
		t.Helper()
		check.Contains(t, line+" in "+place, r.runAs(ada, place, line).String(), want)
	}
	t.Run("without shared memories a scope word is text", func(t *testing.T) {
		says(place, "/remember server: alpha is down", "as memory 1: server: alpha is down")
		says(place, "/memories alpha", "server: alpha is down")
	})
	memory.In(r.store).Share(true)
	t.Run("with shared memories a person chooses the scope", func(t *testing.T) {
		says(place, "/remember the cake is in the red cupboard", "I will remember that")
		says(place, "/remember Server: the keys are in the blue cupboard", "All public channels")
		says(other, "/memories cupboard", "blue cupboard (Ada")
		says(other, "/memories keys", "from "+place)
		for _, name := range []string{private, direct} {
			says(name, "/memories cupboard", "no memories")
		}
		check.Contains(t, "answer", r.runAs(ada, other, "/memories cake").String(), "no memories")
		says(other, "/forget keys", "from "+place)
		says(other, "/forget 3", "No memory 3 is from this conversation; one from another is changed there")
	})
	t.Run("repeated for the server, a memory is shared", func(t *testing.T) {
		says(place, "/remember server: the cake is in the red cupboard", "already remember that")
		says(other, "/memories cake", "red cupboard")
	})
	t.Run("a private channel or direct message refuses to share", func(t *testing.T) {
		for _, name := range []string{private, direct} {
			says(name, "/remember server: the secret is plum", "stays here")
			says(name, "/remember the secret is plum", "I will remember that")
			says(other, "/memories plum", "no memories")
		}
	})
	t.Run("an empty text is refused", func(t *testing.T) {
		says(place, "/remember server:", "Say what to remember")
		says(place, "/remember", "Say what to remember")
	})
}
