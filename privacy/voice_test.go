package privacy_test

import (
	"testing"

	"cairn/chat"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// What somebody says in a voice message is found by its words, and goes with the message: from all files, too.
func TestTheTextOfAVoiceMessageGoesWithIt(t *testing.T) {
	for name, remove := range map[string]func(*testing.T, *store.Conversation){
		"deleted on the platform": func(t *testing.T, c *store.Conversation) { check.EqualAll(t, "seqs", remove(t, c, 2), []int64{2}) },
		"erased with its author": func(t *testing.T, c *store.Conversation) {
			check.Must(privacy.In(c.Store()).Erase(ctx, store.Person{Connector: "discord", ID: "a"}, c))(t)
			eraseAll(t, c, "a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := storetest.OpenStore(t, dir)
			c := find(t, s, "discord:1/2")
			voice := saidBy(2, "a", "Ann", "")
			voice.Attachments = []chat.Attachment{{Kind: chat.Voice, Seconds: 34, Text: "I hid the " + secret + " in the attic"}}
			waiting := saidBy(9, "a", "Ann", "")
			waiting.Attachments = []chat.Attachment{{Kind: chat.Voice, Seconds: 5, Text: "and another " + secret}}
			deliver(t, c, saidBy(1, "b", "Bob", "where is it?"), voice)
			deliverOnly(t, c, waiting)
			check.EqualAll(t, "found by its words", storetest.Recalled(t, c, secret), []int64{2})
			remove(t, c)
			check.NoError(t, privacy.Of(c).Delete(ctx, []string{waiting.ID}))
			check.Len(t, "found", storetest.Recalled(t, c, secret), 0)
			storetest.WantNoSecret(t, c)
			check.NoError(t, s.Upkeep().EraseFiles(ctx, store.Backups{}))
			storetest.WantNoBytes(t, dir, secret)
		})
	}
}
