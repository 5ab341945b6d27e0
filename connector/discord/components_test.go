// What apps build their messages of is read as people see it.

package discord

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"cairn/channel/access"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/wordstest"
)

// builtMessages are messages of apps as the reference has them, and what is read of them.
var builtMessages = map[string][2]string{
	"an embed": {
		`"content":"New:","embeds":[{"type":"rich","author":{"name":"CI"},"title":"Build 7","url":"https://x.dev/7","description":"failed for <@3>","fields":[{"name":"Took","value":"3 s"}],"image":{"url":"https://x.dev/load.png"},"footer":{"text":"main"}}]`,
		"New:\nCI\nBuild 7 (https://x.dev/7)\nfailed for @unknown\nTook: 3 s\n[image: load.png]\nmain",
	},
	"an embedded file":  {`"content":"","attachments":[{"filename":"a.png"}],"embeds":[{"title":"T","image":{"url":"attachment://a.png"}}]`, "T"},
	"what the text has": {`"content":"Build failed","embeds":[{"description":"build failed."}]`, "Build failed"},
	"a link's preview":  {`"content":"https://x.dev","embeds":[{"type":"article","title":"X"}]`, "https://x.dev"},
	"components": {
		`"content":"","flags":32768,"components":[{"type":17,"id":1,"accent_color":1,"components":[{"type":10,"content":"# Sale"},{"type":9,"components":[{"type":10,"content":"Pens"},{"type":10,"content":"3 EUR"}],"accessory":{"type":11,"media":{"url":"https://x.dev/p.png"},"description":"a pen"}},
		{"type":14,"divider":true,"spacing":1},{"type":12,"items":[{"media":{"url":"https://x.dev/1.png"},"description":"front"},{"media":{"url":"https://x.dev/2.png"}}]},{"type":13,"file":{"url":"attachment://list.pdf"},"name":"list.pdf"}]},
		{"type":1,"components":[{"type":2,"style":1,"label":"Buy","custom_id":"b"},{"type":2,"style":5,"label":"Shop","url":"https://x.dev"}]},{"type":1,"components":[{"type":3,"custom_id":"s","placeholder":"Size","options":[{"label":"S","value":"1"},{"label":"L","value":"2"}]}]},{"type":1,"components":[{"type":5,"custom_id":"u","placeholder":"Whom?"}]}]`,
		"# Sale\nPens\n3 EUR\n[image: a pen]\n[image: front]\n[image: 2.png]\n[file: list.pdf]\n[buttons: Buy / Shop (https://x.dev)]\n[buttons: Size: S, L]\n[buttons: Whom?]",
	},
	"an unknown component": {`"content":"","components":[{"type":99,"title":"Moon","parts":[{"type":10,"content":"rises"}]},7]`, "Moon\nrises"},
	"a forwarded one":      {`"content":"","message_snapshots":[{"message":{"content":"see","embeds":[{"title":"T","footer":{"text":"F"}}]}}]`, "[forwarded] see\nT\nF"},
}

func TestWhatAppsBuildIsReadAsPeopleSeeIt(t *testing.T) {
	d := bot(t)
	for name, c := range builtMessages {
		in, ok := d.events.translator.inbound(read[message](json.RawMessage(`{"id":"12","channel_id":"20","author":{"id":"66","username":"ci","bot":true},`+c[0]+`}`)), place{Guild: "9"})
		check.That(t, ok, "%s is not read", name)
		check.Equal(t, name, in.Text, c[1])
	}
}

func TestAnAppsComponentsArriveThroughTheGateway(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	ci := r.OtherBot("ci")
	r.Rules.Access = map[string]access.Access{Name: {Bots: []string{ci.ID}}}
	r.start()
	r.Post(r.square, ci.ID, discordtest.Post{Embeds: []*discordgo.MessageEmbed{{
		Type: "rich", Title: "Build 7", Description: "failed", Footer: &discordgo.MessageEmbedFooter{Text: "main"},
	}}})
	r.Post(r.square, ci.ID, discordtest.Post{Components: []json.RawMessage{
		[]byte(`{"type":17,"components":[{"type":10,"content":"Build 8"},{"type":14}]}`),
		[]byte(`{"type":1,"components":[{"type":2,"style":1,"label":"Retry","custom_id":"r"}]}`),
	}})
	check.EqualAll(t, "what is read", r.texts(r.place(r.square), 2), []string{"Build 7\nfailed\nmain", "Build 8\n[buttons: Retry]"})
}

func FuzzComponents(f *testing.F) {
	for _, c := range builtMessages {
		f.Add([]byte("{" + c[0] + "}"))
	}
	f.Add([]byte(`{"components":` + strings.Repeat(`[{"type":17,"components":`, 500) + "[]" + strings.Repeat("}]", 500) + "}"))
	for _, text := range wordstest.Texts() {
		quoted, _ := json.Marshal(text)
		f.Add([]byte(`{"embeds":[{"title":` + string(quoted) + `,"url":` + string(quoted) + `}],"components":[{"type":10,"content":` + string(quoted) + `},{"type":99,"text":` + string(quoted) + `}]}`))
	}
	d := bot(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m := read[message](data)
		text := withoutRepetition("", appParts(m))
		check.That(t, utf8.ValidString(text) && len(text) < 30_000, "%q is read as %q", data, text)
		_ = d.events.translator.textOf(m, "9", self{}, true)
	})
}
