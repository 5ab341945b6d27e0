package memory_test

import (
	"errors"
	"fmt"
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
)

// sayHello delivers a message by a person with an id and a name.
func sayHello(t *testing.T, c *store.Conversation, n int, id, name string) {
	t.Helper()
	m := said(n, "hello")
	m.AuthorID, m.Author = id, name
	deliver(t, c, m)
}

// wantSaved fails unless a memory is saved, or refused because it names somebody who opted out.
func wantSaved(t *testing.T, c *store.Conversation, content string, want bool) {
	t.Helper()
	_, err := memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: content}, Person: "Ann", PersonID: "0"})
	_, out := errors.AsType[*memory.OptedOutError](err)
	check.That(t, out != want && (out || err == nil), "%q in %s: %v", content, c.Name(), err)
}

// TestOptOutIsByIDNotName: a name that is a word of every other sentence does not
// keep anyone else's memories from being saved.
func TestOptOutIsByIDNotName(t *testing.T) {
	c := newTalk(t)
	for n, name := range []string{"the", "a", "Will", "Carl"} {
		id := fmt.Sprint("u", n)
		sayHello(t, c, n+2, id, name)
		check.Must(privacy.Of(c).OptOut(ctx, id, name, true))(t)
	}
	for _, free := range []string{"the sky is blue", "The sky is grey", "Ann has a cat", "Bob takes vitamin A", "the shop will open at nine"} {
		wantSaved(t, c, free, true)
	}
	for _, held := range []string{
		"the shop of Will opens at ten", "Will rows", "Will's dog barks", "Ask Will.", "carl rows", "the shop of Carl's opens",
	} {
		wantSaved(t, c, held, false)
	}
}

// Those who are named in a thread or in a task speak in the channel.
func TestOptOutBelowChannel(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	channel, elsewhere := find(t, s, "discord:server/channel"), find(t, s, "discord:server/other")
	sayHello(t, channel, 2, "u7", "Carl")
	thread := find(t, s, channel.Name()+"/thread")
	deliver(t, thread, said(4, "hi"))
	below := func(c *store.Conversation) *store.Conversation {
		task := check.Must(c.Tasks().Begin(ctx, store.NewTask{Task: store.Task{Agent: "one", Text: "count"}, Message: "count", Most: 9}))(t)
		return find(t, s, task.Conversation)
	}
	check.Must(privacy.Of(channel).OptOut(ctx, "u7", "Carl", true))(t)
	for _, c := range []*store.Conversation{channel, thread, below(channel), below(thread), below(below(thread))} {
		wantSaved(t, c, "Carl rows", false)
	}
	wantSaved(t, elsewhere, "Carl rows", true) // another Carl
}

// Those who opted out are known by the name they have here, and still after /forget me, unless
// somebody else here has the name.
func TestOptOutUnderOtherNames(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	here, there := find(t, s, "discord:1/2"), find(t, s, "discord:3/4")
	sayHello(t, here, 2, "u7", "Carl")
	sayHello(t, there, 2, "u7", "Charly")
	check.Must(privacy.Of(here).OptOut(ctx, "u7", "Carl", true))(t)
	wantSaved(t, there, "Charly rows", false)
	wantSaved(t, there, "Carl rows", false)
	wantSaved(t, here, "Charly swims", true) // nobody here
	check.Must(privacy.In(s).Erase(ctx, "u7", here, there))(t)
	for _, c := range []*store.Conversation{here, there} {
		check.Equal(t, "done", check.Must(privacy.Of(c).EraseSome(ctx, "u7"))(t).Done, true)
	}
	wantSaved(t, here, "Carl dives", false)
	sayHello(t, there, 3, "u8", "carl")
	wantSaved(t, there, "Carl dives", true)
}
