package discord

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/words/wordstest"
)

// FuzzEvent reads any data as each event that carries what people said, as their use of
// a command, or as a button.
func FuzzEvent(f *testing.F) {
	for _, text := range wordstest.Texts() {
		quoted, _ := json.Marshal(text)
		f.Add([]byte(`{"id":"12","channel_id":"20","author":{"id":"3","username":` + string(quoted) + `},"content":` + string(quoted) + `,"attachments":[{"filename":` + string(quoted) + `}],"data":{"name":"forget","custom_id":` + string(quoted) + `,"options":[{"name":"which","value":` + string(quoted) + `}]}}`))
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"id":"1","author":{"id":"3"},"content":"<t:9223372036854775807:R> <t:-99999999999999:R> <@99999999999999999999>","type":19,"referenced_message":{"referenced_message":{}},"message_snapshots":[{}],"poll":{"answers":[{}]},"embeds":[{}],"mentions":[{}]}`))
	f.Add([]byte(`{"id":5,"author":[],"content":{},"member":"x","data":{"name":"memories","custom_id":"page 99999999999999999999 /memories","options":[{"name":"query","value":{"a":1}}]}}`))
	d := bot(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		in, ok := d.inbound(read[message](data), place{Guild: "9"})
		if ok && (in.ID == "" || in.AuthorID == "" || in.AuthorID == "1" || in.Time.IsZero() || !utf8.ValidString(in.Text+in.Author+in.Quote) || in.Text == "" && len(in.Attachments) == 0) {
			t.Fatalf("%q is heard as %+v", data, in)
		}
		i := read[interaction](data)
		if line := i.line(); !strings.HasPrefix(line, "/") {
			t.Fatalf("%q runs %q", data, line)
		}
		if who := i.person(); who.Manager && i.Member != nil && i.Member.Permissions == 0 {
			t.Fatalf("%q manages: %+v", data, who)
		}
		if line, _, ok := d.readCustomID(i.Data.CustomID); ok && !strings.Contains(i.Data.CustomID, line) {
			t.Fatalf("the button %q runs %q", i.Data.CustomID, line)
		}
		_, _, _ = read[deletion](data), read[guildData](data), read[channelData](data)
	})
}
