package channel_test

import (
	"testing"
	"time"

	"cairn/channel"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// replace asks the newest message again, as m with a new id.
func (r *rig) replace(old, id, text string) error {
	r.t.Helper()
	m := channel.Inbound{ID: id, AuthorID: "u1", Author: "Ada", Text: text, Time: time.Now(), Addressed: true}
	_, err := channel.Replace(r.t.Context(), r.hub, place, old, m)
	return err
}

func TestReplace(t *testing.T) {
	t.Run("the newest question is answered again, once, though the request is repeated after a restart", func(t *testing.T) {
		r := newRig(t, echo)
		r.ask("first")
		r.ask("the secret is swordfish")
		check.NoError(t, r.replace("m2", "n1", "what is the time?"))
		r.waitForReplies()
		want := "user: first | assistant: answer 1 | user: what is the time? | assistant: answer 3"
		check.Equal(t, "transcript", texts(r.transcript()), want)
		check.Lacks(t, "prompt", r.lastRequestText(), "swordfish", "answer 2")
		r.restart()
		check.NoError(t, r.replace("m2", "n1", "what is the time?"))
		r.post(pastMessage("m2", "the secret is swordfish", 0, true)) // a repeated delivery
		r.waitForReplies()
		check.Equal(t, "transcript after it is repeated", texts(r.transcript()), want)
	})
	t.Run("another answer keeps the text of the question", func(t *testing.T) {
		r := newRig(t, echo)
		r.ask("first")
		check.NoError(t, r.replace("m1", "n1", ""))
		r.waitForReplies()
		check.NoError(t, r.replace("n1", "n2", ""))
		r.waitForReplies()
		check.Equal(t, "transcript", texts(r.transcript()), "user: first | assistant: answer 3")
	})
	t.Run("a question that is being answered is answered only as it was edited", func(t *testing.T) {
		held := make(chan struct{})
		r := newRig(t, while(func(n int) {
			if n == 1 {
				<-held
			}
		}, echo))
		r.say("tow", true)
		r.connector.until(t, "the first turn", func() bool { return r.connector.countTaken() == 1 })
		check.NoError(t, r.replace("m1", "n1", "two"))
		close(held)
		r.waitForReplies()
		check.Equal(t, "transcript", texts(r.transcript()), "user: two | assistant: answer 2")
	})
	t.Run("a message that waits is answered as edited, with its picture", func(t *testing.T) {
		held := make(chan struct{})
		r := newRig(t, while(func(n int) {
			if n == 1 {
				<-held
			}
		}, echo))
		r.say("first", true)
		r.connector.until(t, "the first turn", func() bool { return r.connector.countTaken() == 1 })
		picture := channel.Attachment{Kind: "image", Name: "gate.png", Type: "image/png", Data: []byte("png")}
		r.deliverMessage(channel.Inbound{ID: "p1", AuthorID: "u1", Author: "Ada", Text: "tow", Time: time.Now(), Addressed: true, Attachments: []channel.Attachment{picture}})
		check.NoError(t, r.replace("p1", "n1", "two"))
		close(held)
		r.waitForReplies()
		check.Equal(t, "transcript", texts(r.transcript()), "user: first | assistant: answer 1 | user: two | assistant: answer 2")
		check.NoError(t, r.replace("n1", "n2", "three"))
		r.waitForReplies()
		check.Equal(t, "files", storetest.Number(t, r.store, "SELECT count(*) FROM files WHERE platform_id = 'n2' AND length(data) = 3"), 1)
		check.NoError(t, r.hub.Delete(t.Context(), place, "n2"))
		check.Equal(t, "files after a deletion", storetest.Number(t, r.store, "SELECT count(*) FROM files"), 0)
	})
	t.Run("only the newest message can be asked again", func(t *testing.T) {
		r := newRig(t, echo)
		r.ask("first")
		r.ask("second")
		check.Error(t, r.replace("m1", "n1", "other"), store.ErrNotNewest)
		check.Error(t, r.replace("m9", "n1", "other"), store.ErrNotFound)
		check.NoError(t, r.hub.Delete(t.Context(), place, "m2"))
		check.Error(t, r.replace("m2", "n1", "other"), store.ErrNotFound)
		check.Equal(t, "transcript", texts(r.transcript()), "user: first | assistant: answer 1 | assistant: answer 2")
	})
}
