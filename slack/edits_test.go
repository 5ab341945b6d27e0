// Edits that follow each other closely.

package slack

import (
	"fmt"
	"testing"
	"time"

	"cairn/slack/slacktest"
)

func TestEditsWithinASecond(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick(), answerN)
	general, ann := r.place()
	r.begin()
	ts := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "on Monday"})
	r.stored(conversation(general), "user: on Monday")
	second := fmt.Sprintf("%d.000000", timeOf(ts).Unix()+1)
	for i, text := range []string{"on Tuesday", "on Friday"} {
		r.w.Emit(map[string]any{
			"type": "message", "subtype": "message_changed", "hidden": true, "channel": general, "ts": tsOf(timeOf(second).Add(time.Duration(i+1) * 100 * time.Millisecond)),
			"message": map[string]any{"type": "message", "user": ann, "text": text, "ts": ts, "edited": map[string]any{"user": ann, "ts": second}},
		})
		if i == 0 {
			r.stored(conversation(general), "user: on Tuesday")
		}
	}
	r.stored(conversation(general), "user: on Friday")
}

func TestEventsWithoutAnID(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick(), answerN)
	general, ann := r.place()
	r.begin()
	ts := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "edit 0"})
	r.stored(conversation(general), "user: edit 0")
	const edits = 40
	for i := range edits {
		r.w.Sockets()[0].SendRaw(fmt.Sprintf(`{"type":"events_api","envelope_id":"","payload":{"type":"event_callback","event":{"type":"message",
			"subtype":"message_changed","channel":%q,"ts":%q,"message":{"type":"message","user":%q,"text":"edit %d","ts":%q,"edited":{"ts":%q}}}}}`,
			general, ts, ann, i+1, ts, tsOf(timeOf(ts).Add(time.Duration(i+1)*time.Second))))
	}
	r.stored(conversation(general), fmt.Sprintf("user: edit %d", edits))
}
