package channel

import (
	"fmt"
	"testing"

	"cairn/testkit/check"
)

func TestReplyIDs(t *testing.T) {
	for text, want := range map[string]replyID{
		"reply-7":                        {kind: replyAnswer, of: "7"},
		"reply-7.sources-5.de":           {kind: replyAnswer, of: "7", language: "de", sources: "5"},
		"landing-12.de":                  {kind: replyLanding, of: "12", language: "de"},
		"landing-12":                     {kind: replyLanding, of: "12"}, // of an earlier version
		"saved-5.en.7.8":                 {kind: replySaved, of: "5", language: "en", memories: []string{"7", "8"}},
		"approve-k3f9x.en":               {kind: replyApproval, of: "k3f9x", language: "en"},
		"approve-k3f9x":                  {kind: replyApproval, of: "k3f9x"},
		"shortened-3":                    {kind: replyShortened, of: "3"},
		"cutoff-3":                       {kind: replyCutOff, of: "3"},
		"notice-3":                       {kind: replyFailed, of: "3"},
		"allowance-3":                    {kind: replyAllowance, of: "3"},
		"budget-month.2026-05-$5.00":     {kind: replyBudget, of: "month.2026-05-$5.00"},
		"unwell-dk3x":                    {kind: replyUnwell, of: "dk3x"},
		"trial-1-post.sources-1.en":      {of: "trial-1-post", language: "en", sources: "1"},
		"r1":                             {of: "r1"},
		"":                               {},
		"unsent-reply-7":                 {of: "unsent-reply-7"},
		"landing":                        {of: "landing"},
		"reply-7.sources-":               {kind: replyAnswer, of: "7.sources-"},
		"landing-1.de.sources-5.en":      {kind: replyLanding, of: "1.de", language: "en", sources: "5"},
		"reply-1.sources-2.en.sources-3": {kind: replyAnswer, of: "1", language: "en.sources-3", sources: "2"},
	} {
		check.Equal(t, text, fmt.Sprintf("%#v", parseReplyID(text)), fmt.Sprintf("%#v", want))
		check.Equal(t, "the id again", want.String(), text)
	}
	check.Equal(t, "an id with sources", WithSources("reply-7", 5, "de"), "reply-7.sources-5.de")
}

// Buttons of old messages, and of any, are what they were.
func TestButtonsOfReplies(t *testing.T) {
	for reply, want := range map[string]string{
		"reply-7.sources-5.de": "[Quellen /sources 5]",
		"r1.sources-5.":        "[Sources /sources 5]",
		"landing-12.en":        "[Expand /expand 12] [Undo /undo 12]",
		"landing-12":           "[Expand /expand 12] [Undo /undo 12]",
		"saved-5.en.7":         "[Undo /forget 7]",
		"saved-5.en.7.8":       "[Undo 7 /forget 7] [Undo 8 /forget 8]",
		"saved-5.en":           "",
		"approve-k3f9x":        "[Allow /allow k3f9x] [Deny /deny k3f9x]",
		"reply-7":              "",
		"budget-a":             "",
	} {
		shown := ""
		for _, b := range Buttons(Piece{Reply: reply, Parts: 1}) {
			shown += fmt.Sprintf(" [%s %s]", b.Label, b.Line)
		}
		check.Equal(t, reply, shown, map[bool]string{true: "", false: " " + want}[want == ""])
	}
	check.That(t, IsNotice(Piece{Reply: "landing-12"}) && !IsNotice(Piece{Reply: "reply-1"}) && !IsNotice(Piece{Reply: "notice-1"}), "which are notices")
}

// What is read of an id is all that it says: written and read again, it is the same.
func FuzzReplyID(f *testing.F) {
	for _, seed := range []string{"reply-7.sources-5.de", "landing-12.de", "saved-5.en.7.8", "approve-k3f9x.", "saved-..", "a.sources-.", "budget-x.y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id := parseReplyID(text)
		check.Equal(t, text, fmt.Sprintf("%#v", parseReplyID(id.String())), fmt.Sprintf("%#v", id))
		for part := range 2 {
			Buttons(Piece{Reply: text, Part: part, Parts: 2})
		}
	})
}
