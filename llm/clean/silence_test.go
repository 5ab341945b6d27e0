package clean

import (
	"strings"
	"testing"

	"cairn/testkit/check"
)

func TestSentinelIsRemovedInEveryWrapping(t *testing.T) {
	for text, want := range map[string]string{
		"NO_REPLY": "", " NO_REPLY\n": "", "**NO_REPLY**": "", "`NO_REPLY`": "", "NO_REPLY.": "", "\"NO_REPLY\"": "", "[NO_REPLY]": "",
		"```\nNO_REPLY\n```": "", "```text\nNO_REPLY\n```": "", "NO\\_REPLY": "", "no_reply": "", "> NO_REPLY": "", "- NO_REPLY": "",
		"<answer>NO_REPLY</answer>": "", "<NO_REPLY>": "", "Answer: NO_REPLY": "", "**Response:** `NO_REPLY`": "", "{\"reply\": \"NO_REPLY\"}": "",
		"（NO_REPLY）": "", "«NO_REPLY»": "", "*NO_REPLY*\n\n": "", "NO_REPLY\nNO_REPLY": "", "NO REPLY": "", "NO_REPLY 🤐": "",
		"NO_REPLY: nobody asked me.": "", "NO_REPLY - nothing to add": "", "NO_REPLY (nobody asked)": "", "NO_REPLY. Nobody asked.": "",
		"Tea it is. NO_REPLY":              "Tea it is.",
		"Tea it is. **NO_REPLY**.":         "Tea it is.",
		"Tea it is. NO_REPLY. NO_REPLY":    "Tea it is.",
		"Tea it is!\nNO_REPLY":             "Tea it is!",
		"Tea it is.\n\n```\nNO_REPLY\n```": "Tea it is.",
		"NO_REPLY\n\nTea it is.":           "Tea it is.",
		"お茶です。NO_REPLY":                    "お茶です。",
		"Nothing to add: NO_REPLY":         "",
		"The final answer is: NO_REPLY":    "",
		"答复：NO_REPLY":                      "",
		"NO_REPLY NO_REPLY":                "",
		"\u200bNO_REPLY":                   "",
		"<reply>\nNO_REPLY\n</reply>":      "",
		"NO-REPLY":                         "",
		"**NO REPLY**":                     "",
		"NO＿REPLY":                         "",
		"Tea it is: no-reply addresses":    "Tea it is: no-reply addresses",
		// So are the sentences that have it.
		"With nothing to add I answer NO_REPLY, and nobody sees it.": "",
		"NO_REPLY is what I answer then.":                            "",
		"Tea it is. So I say NO_REPLY here. Milk, too.":              "Tea it is. Milk, too.",
		"Nobody asked me, so \"NO_REPLY\".":                          "",
		"Nothing to add—NO_REPLY":                                    "",
		"Nobody asked me, therefore NO_REPLY!":                       "",
		"NO_REPLY, since nobody asked.\nTea it is.":                  "Tea it is.",
		"- Tea it is.\n- For Bob: NO_REPLY, as he asked nothing.":    "- Tea it is.",
		"没有人问我，所以我回答NO_REPLY。茶好了。":                                   "茶好了。",
		"My answer is **NO_REPLY** for now.":                         "",
		"(NO_REPLY because nobody asked)":                            "",
		"NO_REPLY\n\n(The message is not addressed to me.)":          "",
		"**NO_REPLY**\n*(They talk to each other.)*":                 "",
		"NO_REPLY\n（私宛てではありません。）":                                    "",
		"…NO_REPLY…":                  "",
		"!NO_REPLY?":                  "",
		"Okay NO\\_REPLY it is. Tea.": "Tea.",
		// In code, and as a part of a name, it is mentioned.
		"What does `NO_REPLY` mean? It is a sentinel.":                                    "What does `NO_REPLY` mean? It is a sentinel.",
		"Write to NO_REPLY@EXAMPLE.ORG, or set NO_REPLY=1.":                               "Write to NO_REPLY@EXAMPLE.ORG, or set NO_REPLY=1.",
		"const noReply = \"NO_REPLY\"":                                                    "const noReply = \"NO_REPLY\"",
		"```go\nif answer == \"NO_REPLY\" {\n\treturn nil // NO_REPLY is silence\n}\n```": "```go\nif answer == \"NO_REPLY\" {\n\treturn nil // NO_REPLY is silence\n}\n```",
		"See NO_REPLY.md and MY_NO_REPLY_FLAG.":                                           "See NO_REPLY.md and MY_NO_REPLY_FLAG.",
		"enum Answer { REPLY, NO_REPLY }":                                                 "enum Answer { REPLY, NO_REPLY }",
		"NO_REPLY = \"NO_REPLY\"":                                                         "NO_REPLY = \"NO_REPLY\"",
		"if x == NO_REPLY {":                                                              "if x == NO_REPLY {",
		"There is no reply.":                                                              "There is no reply.",
		"no reply":                                                                        "no reply",
		"a\n```\n```\nb":                                                                  "a\n```\n```\nb",
	} {
		check.Equal(t, text, WithoutNoReply(text, false), want)
		for end := range len(text) {
			if part := text[:end]; strings.HasPrefix(strings.ToValidUTF8(part, ""), part) && want != text {
				shown := WithoutNoReply(part, true)
				check.Lacks(t, "shown of "+part, shown, "NO_", "NO\\_", "addressed to", "They talk", "私")
			}
		}
	}
}

func FuzzNoReply(f *testing.F) {
	for _, text := range append(texts(), "a. **NO_REPLY**", "```\nNO_REPLY\n```\nb", "NO_REPLY: x\ny") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		without := WithoutNoReply(text, false)
		check.That(t, len(without) <= len(text) && len(WithoutNoReply(text, true)) <= len(text), "%q became longer: %q", text, without)
		for line := range strings.SplitSeq(without, "\n") {
			check.That(t, strings.Trim(line, " `*\"'.") != NoReply, "%q: %q", text, without)
		}
		check.That(t, hasSentinel().MatchString(text) || without == strings.TrimSpace(text) || strings.TrimSpace(text) == "NO REPLY", "%q became %q", text, without)
	})
}

func TestTextOfMarksIsResidue(t *testing.T) {
	for text, want := range map[string]bool{
		"NO_REPLY": true, "<think></think>": true, "<think>": true, "<|im_end|>": true, "[INST] [/INST]": true, "</kept>": true, "<now>\n</now>": true,
		"```\n```": true, "**NO_REPLY**": true, "<tool_call></tool_call>": true, "<b></b> -": true, "": true, "<|im_start|> <|im_end|>": true,
		"Ada likes tea": false, "<b>Ada</b>": false, "7": false, "🍵": false, "`<|im_end|>` ends a turn": false, "茶": false,
	} {
		check.Equal(t, text, IsResidue(text), want)
	}
}
