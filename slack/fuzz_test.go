package slack

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"cairn/words/wordstest"
)

// FuzzEvent reads any payload as an event, and what it tells as a message.
func FuzzEvent(f *testing.F) {
	for _, text := range wordstest.Texts() {
		quoted, _ := json.Marshal(text)
		f.Add([]byte(`{"event_id":"E1","event":{"type":"message","channel":"C1","user":"U1","ts":"1700000000.000100","text":` + string(quoted) + `,"files":[{"id":"F1","name":` + string(quoted) + `}]}}`))
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"event":{"type":"message","subtype":"message_changed","channel":"D1","message":{"user":"U2","ts":"x","thread_ts":"1","text":"<@UBOT|cairn> a"},"previous_message":{}}}`))
	f.Add([]byte(`{"event":{"type":"app_mention","channel":"C1","bot_id":"B1","ts":"99999999999999999999.9","text":"<!date^9|x> <https://a|b>","attachments":[{"text":1}],"blocks":[{"type":"zzz"},5],"files":{}}}`))
	s := knowing(f)
	f.Fuzz(func(t *testing.T, payload []byte) {
		m, _, ok := readEvent(payload)
		if !ok {
			return
		}
		_ = membersOf(payload)
		place, in, heard := s.inbound(m.Channel, m)
		if heard && (in.ID == "" || in.AuthorID == "" || place.Channel != m.Channel || !utf8.ValidString(in.Text) || in.Text == "" && len(in.Attachments) == 0) {
			t.Fatalf("%q is heard in %+v as %+v", payload, place, in)
		}
	})
}
