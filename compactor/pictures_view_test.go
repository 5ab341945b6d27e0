package compactor_test

import (
	"reflect"
	"slices"
	"testing"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

// show delivers an unaddressed message with a picture.
func (r *rig) show(text string, data []byte) chat.Message {
	r.t.Helper()
	shown := r.arrive(store.Inbound{
		Text: text, Attachments: []chat.Attachment{{Kind: "image", Name: "cat.png", Type: "image/png", Size: int64(len(data)), Data: data}},
	})
	r.c.Check(r.t.Context())
	return shown
}

func TestPicturesOfTheStoreAreShown(t *testing.T) {
	worker := &llmtest.Model{Func: goodSummary}
	r := newRig(t, 100_000, worker)
	before := r.c.Status().Used
	shown := r.show("my cat", []byte("\x89PNG\r\n\x1a\n"))
	r.talk("what is it?")
	r.deliverNotes("well")

	view := r.request()
	if len(view[1].Images) != 1 || view[1].Images[0].File == 0 || view[1].Images[0].Label != "image of #1: cat.png" {
		t.Fatalf("got %+v", view[1])
	}
	kind, data, err := r.conv.Transcript().File(t.Context(), view[1].Images[0].File)
	check.NoError(t, err)
	check.Equal(t, "type and data", kind+string(data), "image/png\x89PNG\r\n\x1a\n")
	check.Contains(t, "text", view[1].Text, "my cat [image: cat.png, image/png, 8 B]")
	r.restart()
	after := r.request()
	check.That(t, reflect.DeepEqual(after, view), "a restart changed the view: %+v became %+v", view, after)
	grown := r.c.Status().Used - before
	check.That(t, shown.Tokens == chat.TokensOf(shown) && shown.Tokens >= 1000 && grown >= shown.Tokens, "got a row of %d tokens, the status grew by %d", shown.Tokens, grown)

	r.deliverMany(10, 30)
	r.compactAndWait()
	check.Require(t, len(worker.Requests()) != 0, "got no worker request")
	check.Contains(t, "material", worker.Requests()[0].Messages[1].Text, "my cat [image: cat.png, image/png, 8 B]")
	for _, m := range slices.Concat(worker.Requests()[0].Messages, r.request()) {
		check.Len(t, "pictures for the worker, or of a summarized message", m.Images, 0)
	}
	r.verify()
}

// Pictures leave a request only with a new head: all other requests extend the one before.
func TestPicturesLeaveWithHeadChange(t *testing.T) {
	r := newRig(t, 60_000, nil)
	var last []llm.Message
	version, changes := int64(-1), 0
	stored := func() int64 {
		head, _, err := r.conv.Compactions().Head(t.Context())
		check.NoError(t, err)
		return head.Version
	}
	for range 30 {
		r.show("look", []byte("\x89PNG\r\n\x1a\n"))
		r.deliver("and?", true)
		r.c.History().Begin(compactor.Context{Text: "time: now"})
		head, view := stored(), r.request()
		for ; stored() != head; view = r.request() { // a summary was applied in between
			head = stored()
		}
		if head != version {
			changes++
		} else if len(view) < len(last) || !reflect.DeepEqual(view[:len(last)], last) {
			t.Fatalf("the head is unchanged, but the request does not extend the previous one:\n%+v\n--- became\n%+v", last, view)
		}
		last, version = view, head
		r.answerAlone(r.said[len(r.said)-1])
	}
	check.That(t, changes >= 3 && changes <= 10, "the head changed %d times with 30 pictures", changes)
}
