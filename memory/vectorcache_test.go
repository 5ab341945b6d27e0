// The vectors that stay in memory between questions: what is read anew, and what goes at once.

package memory_test

import (
	"fmt"
	"testing"

	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// cachedTalk is a conversation whose vectors are in memory. They are overwritten on disk, so that a search that reads them anew finds
// nothing by meaning.
func cachedTalk(t *testing.T) (*store.Conversation, *embeddingRig) {
	t.Helper()
	c := carTalk(t)
	e := embed(t, c.Store(), llmtest.ServeEmbeddings(t, meaning), nil)
	check.NoError(t, e.Fill(ctx))
	check.Equal(t, "found before", found(t, c, "who purchased an automobile"), 2)
	overwrite(t, c)
	return c, e
}

// overwrite replaces the vectors on disk by some without a direction.
func overwrite(t *testing.T, c *store.Conversation) {
	t.Helper()
	storetest.Run(t, c.Store(), "UPDATE message_vectors SET vector = ?", make([]byte, number(t, c.Store(), "SELECT max(length(vector)) FROM message_vectors")))
}

// found returns the seq of the first message that is found; 0: none is.
func found(t *testing.T, c *store.Conversation, question string) int64 {
	t.Helper()
	for _, seq := range recalled(t, c, question) {
		return seq
	}
	return 0
}

func TestVectorsStayInMemory(t *testing.T) {
	for name, step := range map[string]func(t *testing.T, c *store.Conversation, e *embeddingRig){
		"after a compaction": func(t *testing.T, c *store.Conversation, _ *embeddingRig) { storetest.Hide(t, c, 1, 2) },
		"after new messages": func(t *testing.T, c *store.Conversation, e *embeddingRig) {
			deliver(t, c, said(6, "a feline sleeps on the sofa"), said(7, "the harbour was closed"))
			check.NoError(t, e.Fill(ctx))
			check.Equal(t, "a new one", found(t, c, "whose pet rests there"), 6)
		},
		"after an opt-out of somebody else": func(t *testing.T, c *store.Conversation, _ *embeddingRig) {
			check.Must(privacy.Of(c).OptOut(ctx, "u77", "Zoe", true))(t)
		},
		"after a change elsewhere": func(t *testing.T, c *store.Conversation, e *embeddingRig) {
			other := storetest.Find(t, c.Store(), "terminal:other")
			deliver(t, other, said(1, "a feline sleeps on the sofa"))
			check.NoError(t, e.Fill(ctx))
			storetest.Remove(t, other, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, e := cachedTalk(t)
			step(t, c, e)
			check.Equal(t, "found", found(t, c, "who purchased an automobile"), 2)
		})
	}
}

// TestOlderMessagesGetVectorsLater: the newest messages of an import get theirs first.
func TestOlderMessagesGetVectorsLater(t *testing.T) {
	c := carTalk(t)
	for n := range 32 {
		deliver(t, c, said(6+n, fmt.Sprintf("nothing of note, entry %d", n)))
	}
	deliver(t, c, said(38, "a feline sleeps on the sofa"))
	server := llmtest.ServeEmbeddings(t, meaning)
	e := embed(t, c.Store(), server, nil)
	server.Fail("reversed", "reversed", "500") // the first finds out about the server, the last has the oldest six
	check.That(t, e.Fill(ctx) != nil, "the second batch fails")
	check.Equal(t, "a new message", found(t, c, "whose pet rests there"), 38)
	check.That(t, found(t, c, "who purchased an automobile") != 2, "found without its vector")
	overwrite(t, c)
	check.NoError(t, e.Fill(ctx))
	check.Equal(t, "with it", found(t, c, "who purchased an automobile"), 2)
	check.Equal(t, "the new one, from memory", found(t, c, "whose pet rests there"), 38)
}

// TestDeletedVectorsAreGone in the search that follows, from memory, too.
func TestDeletedVectorsAreGone(t *testing.T) {
	for name, remove := range map[string]func(t *testing.T, c *store.Conversation){
		"a message is deleted": func(t *testing.T, c *store.Conversation) { storetest.Remove(t, c, 2) },
		"a message is edited":  func(t *testing.T, c *store.Conversation) { storetest.Edit(t, c, 2, "last spring I was in Riga") },
		"its author opts out": func(t *testing.T, c *store.Conversation) {
			check.Must(privacy.Of(c).OptOut(ctx, storetest.People["Ann"], "Ann", true))(t)
		},
		"the conversation is purged": func(t *testing.T, c *store.Conversation) { check.NoError(t, privacy.Of(c).Purge(ctx)) },
	} {
		t.Run(name, func(t *testing.T) {
			c := carTalk(t)
			e := embed(t, c.Store(), llmtest.ServeEmbeddings(t, meaning), nil)
			check.NoError(t, e.Fill(ctx))
			check.Equal(t, "found before", found(t, c, "who purchased an automobile"), 2)
			remove(t, c)
			check.That(t, found(t, c, "who purchased an automobile") != 2, "found by a vector that was deleted")
		})
	}
}

// TestVectorsInMemoryAreLimited in number and bytes: of the longest vectors that a setting allows, all that are compared fit.
func TestVectorsInMemoryAreLimited(t *testing.T) {
	check.Equal(t, "of 512 numbers", memory.MostCompared(512), memory.Examined)
	check.Equal(t, "of 4096 numbers", memory.MostCompared(4096), memory.MaxCached/(4096+16))
}
