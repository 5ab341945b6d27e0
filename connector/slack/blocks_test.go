// What apps build their messages of is read as people see it.

package slack

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/channel/access"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
	"cairn/testkit/wordstest"
)

// shownBlocks are blocks as the reference has them (reference/block-kit/blocks), and what is read of them.
var shownBlocks = map[string][2]string{
	"header and section": {
		`[{"type":"header","text":{"type":"plain_text","text":"Deploy &amp; test"}},{"type":"divider"},{"type":"section","text":{"type":"mrkdwn","text":"of <@U1>"},
		"fields":[{"type":"mrkdwn","text":"*State* failed"},{"type":"plain_text","text":"3 min"}],"accessory":{"type":"button","action_id":"a","text":{"type":"plain_text","text":"Retry"},"value":"42"}}]`,
		"Deploy & test\nof @Ann\n*State* failed\n3 min\n[buttons: Retry]",
	},
	"context":  {`[{"type":"context","elements":[{"type":"image","image_url":"https://x.dev/a.png","alt_text":"logo"},{"type":"mrkdwn","text":"by CI"}]}]`, "[image: logo] by CI"},
	"image":    {`[{"type":"image","image_url":"https://x.dev/a.png","alt_text":"a rising line","title":{"type":"plain_text","text":"Load"}}]`, "[image: Load: a rising line]"},
	"video":    {`[{"type":"video","video_url":"https://x.dev/v","thumbnail_url":"https://x.dev/t","alt_text":"how to","title":{"type":"plain_text","text":"Tour"},"description":{"type":"plain_text","text":"in two minutes"}}]`, "in two minutes\n[video: Tour: how to]"},
	"markdown": {`[{"type":"markdown","text":"**bold** a < b & <@U1>"}]`, "**bold** a < b & <@U1>"},
	"table": {
		`[{"type":"table","rows":[[{"type":"raw_text","text":"Item"},{"type":"raw_text","text":"Price"}],[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"link","url":"https://x.dev","text":"Pen"}]}]},{"type":"raw_number","value":12.5}]]}]`,
		"| Item | Price |\n| --- | --- |\n| Pen (https://x.dev) | 12.5 |",
	},
	"data table": {
		`[{"type":"data_table","caption":"Sales","rows":[[{"type":"raw_text","text":"a|b"}],[{"type":"action_cell","element":{"type":"button","text":{"type":"plain_text","text":"Open"},"action_id":"x"}}]]}]`,
		"Sales\n| a\\|b |\n| --- |\n| [buttons: Open] |",
	},
	"chart": {
		`[{"type":"data_visualization","title":"Visits","chart":{"type":"bar","series":[{"name":"2025","data":[{"label":"Jan","value":3}]},{"name":"2026","data":[{"label":"Jan","value":4}]}],"axis_config":{"categories":["Jan"],"x_label":"Month"}}}]`,
		"Visits\n| Month | 2025 | 2026 |\n| --- | --- | --- |\n| Jan | 3 | 4 |",
	},
	"rich text": {
		`[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"U1"},{"type":"text","text":" said "},{"type":"text","text":"no","style":{"bold":true}},{"type":"emoji","name":"wave"},{"type":"text","text":" <@U1> &"}]},
		{"type":"rich_text_list","style":"ordered","indent":0,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"one"}]},{"type":"rich_text_section","elements":[{"type":"text","text":"two"}]}]},
		{"type":"rich_text_list","style":"bullet","indent":1,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"deep"}]}]},
		{"type":"rich_text_quote","elements":[{"type":"text","text":"wise\nwords"}]},{"type":"rich_text_preformatted","elements":[{"type":"text","text":"if a < b {}"}]}]}]`,
		"@Ann said *no*:wave: <@U1> &\n1. one\n2. two\n    • deep\n> wise\n> words\n```\nif a < b {}\n```",
	},
	"actions": {`[{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Yes"},"action_id":"y"},{"type":"static_select","placeholder":{"type":"plain_text","text":"Pick"},"options":[{"text":{"type":"plain_text","text":"A"},"value":"a"}],"action_id":"s"}]}]`, "[buttons: Yes / Pick: A]"},
	"input":   {`[{"type":"input","label":{"type":"plain_text","text":"Reason"},"element":{"type":"plain_text_input","action_id":"r"},"hint":{"type":"plain_text","text":"short"}}]`, "Reason\nshort"},
	"plan":    {`[{"type":"plan","title":"Trip","tasks":[{"type":"task_card","task_id":"t1","title":"Book","status":"complete","output":{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"done"}]}]},"sources":[{"type":"url","url":"https://x.dev","text":"site"}]}]}]`, "Trip\nBook\ncomplete\ndone\nsite (https://x.dev)"},
	"alert":   {`[{"type":"alert","text":{"type":"mrkdwn","text":"disk full"},"level":"error"}]`, "disk full"},
	"cards":   {`[{"type":"carousel","elements":[{"type":"card","title":{"type":"mrkdwn","text":"A"},"body":{"type":"mrkdwn","text":"first"},"slack_icon":{"type":"icon","name":"bolt"}},{"type":"card","title":{"type":"mrkdwn","text":"B"}}]}]`, "A\nfirst\nB"},
	"nested":  {`[{"type":"container","title":{"type":"plain_text","text":"Box"},"child_blocks":[{"type":"section","text":{"type":"mrkdwn","text":"inside"}}]},{"type":"layout","label":"Grid","rows":[{"items":[{"block":{"type":"section","text":{"type":"mrkdwn","text":"cell"}}}]}],"fallback":[{"type":"section","text":{"type":"mrkdwn","text":"cell"}}]}]`, "Box\ninside\nGrid\ncell"},
	"unknown": {`[{"type":"hologram","block_id":"b","title":"Moon","parts":[{"type":"beam","text":{"type":"mrkdwn","text":"rises"},"id":"x"}]},7,"x",null]`, "Moon\nrises"},
}

func decodedBlocks(t testing.TB, raw string) (blocks []any) {
	t.Helper()
	check.NoError(t, json.Unmarshal([]byte(raw), &blocks))
	return blocks
}

func TestEachBlockIsReadAsPeopleSeeIt(t *testing.T) {
	s := knowing(t)
	for name, c := range shownBlocks {
		blocks := decodedBlocks(t, c[0])
		got := s.names.plainText(withForwarded(message{BotID: "B1", Text: "This message contains interactive elements.", Blocks: blocks}))
		if name == "actions" || name == "image" { // which say little themselves
			got = strings.TrimPrefix(got, "This message contains interactive elements.\n")
		}
		check.Equal(t, name, got, c[1])
		check.Equal(t, name+", not twice", s.names.plainText(withForwarded(message{BotID: "B1", Text: literal(got), Blocks: blocks})), got)
	}
}

func TestWhatAppsAttachIsReadInWholeAndOnce(t *testing.T) {
	s := knowing(t)
	for _, c := range []struct{ claim, message, want string }{
		{
			"all its parts", `{"text":"Alert","bot_id":"B1","attachments":[{"fallback":"Disk","pretext":"From prod","author_name":"Monitor","title":"Disk full","title_link":"https://x.dev","text":"of db1","fields":[{"title":"Free","value":"1 %","short":true}],"actions":[{"name":"ack","text":"Ack","type":"button"}],"image_url":"https://x.dev/a.png","footer":"Ops"}]}`,
			"Alert\nFrom prod\nMonitor\nDisk full (https://x.dev)\nof db1\nFree: 1 %\n[buttons: Ack]\nOps",
		},
		{"its blocks", `{"text":"","bot_id":"B1","attachments":[{"fallback":"[no preview available]","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"in blocks"}}]}]}`, "in blocks"},
		{"its fallback if it has nothing else", `{"text":"","bot_id":"B1","attachments":[{"fallback":"only this"}]}`, "only this"},
		{"not what the text says", `{"text":"Disk full","bot_id":"B1","attachments":[{"text":"disk full!"}]}`, "Disk full"},
		{"a forwarded message", `{"text":"look","user":"U1","attachments":[{"is_share":true,"author_name":"Bob","text":"the plan","message_blocks":[{"message":{"blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"the plan"}]}]}]}}]}]}`, "look\nBob: the plan"},
		{"no preview of a link", `{"text":"see https://x.dev","user":"U1","attachments":[{"from_url":"https://x.dev","title":"X","text":"words"}]}`, "see https://x.dev"},
		{"a person's table", `{"text":"prices","user":"U1","blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"prices"}]}]},{"type":"table","rows":[[{"type":"raw_text","text":"Pen"}],[{"type":"raw_text","text":"3"}]]}]}`, "prices\n| Pen |\n| --- |\n| 3 |"},
		{"a group keeps its name", `{"text":"<!subteam^S1|@ops> :wave::skin-tone-2: <!here|here> go","user":"U1","blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"usergroup","usergroup_id":"S1"},{"type":"text","text":" "},{"type":"emoji","name":"wave","skin_tone":2},{"type":"text","text":" "},{"type":"broadcast","range":"here"},{"type":"text","text":" go"}]}]}]}`, "@ops :wave::skin-tone-2: @here go"},
		{"a person's markup", `{"text":"*hi* <@U1|ann> &amp; <https://x.dev|docs>","user":"U1","blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"hi","style":{"bold":true}},{"type":"text","text":" "},{"type":"user","user_id":"U1"},{"type":"text","text":" & "},{"type":"link","url":"https://x.dev","text":"docs"}]}]}]}`, "*hi* @Ann & docs (https://x.dev)"},
	} {
		var m message
		check.NoError(t, json.Unmarshal([]byte(c.message), &m))
		check.Equal(t, c.claim, s.names.plainText(withForwarded(m)), c.want)
	}
}

func TestAnAppsBlocksArriveThroughTheSocket(t *testing.T) {
	r, general, _ := town(t, slacktest.Options{}, answerN)
	bot := r.w.AddBot("helper")
	r.w.Join(general, bot)
	r.Rules.Access = map[string]access.Access{Name: {Bots: []string{bot}}}
	r.begin()
	var want []string
	for name, c := range shownBlocks {
		if strings.Contains(c[1], "@Ann") || name == "unknown" || name == "actions" || name == "image" || name == "markdown" {
			continue
		}
		r.w.Say(slacktest.Post{
			Channel: general, User: bot, Text: "fallback", Blocks: json.RawMessage(c[0]), Attachments: json.RawMessage(`[{"title":"Details","text":"in the log"}]`),
		})
		want = append(want, "user: "+c[1]+"\nDetails\nin the log")
	}
	r.stored(conversation(general), want...)
}

func FuzzBlocks(f *testing.F) {
	for _, c := range shownBlocks {
		f.Add([]byte(c[0]))
	}
	f.Add([]byte(strings.Repeat(`[{"type":"section","elements":`, 500) + "[]" + strings.Repeat("}]", 500)))
	f.Add([]byte(strings.Repeat(`[{"x":`, 500) + "[]" + strings.Repeat("}]", 500)))
	f.Add([]byte(`[` + strings.Repeat(`{"type":"markdown","text":"`+strings.Repeat("x", 999)+`"},`, 100) + `7]`))
	for _, text := range wordstest.Texts() {
		quoted, _ := json.Marshal(text)
		f.Add([]byte(`[{"type":"section","text":` + string(quoted) + `},{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":` + string(quoted) + `,"style":{"bold":true}}]}]}]`))
	}
	s := knowing(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var blocks []any
		if json.Unmarshal(data, &blocks) != nil {
			return
		}
		text := s.names.plainText(withBlocks("", blocks))
		check.That(t, utf8.ValidString(text), "%q is read as %q", data, text)
		check.That(t, len(text) < 100_000, "%d bytes are read", len(text))
	})
}
