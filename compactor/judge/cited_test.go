package judge

import (
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/wordstest"
)

func TestLineOfACitationAloneIsJudged(t *testing.T) {
	judge := Of(summarize.ItemsOf(said("Ann: I moved to Bergen"), summarize.MaxMessage))
	check.Equal(t, "text", judge.Check("- (#1)\n- Ann moved to Bergen (#1).").Text, "- (#1)\n- Ann moved to Bergen (#1).")
}

// The assistant may have no name: a statement about nobody is not about it.
func TestStatementAboutNobodyIsSupported(t *testing.T) {
	messages := said("Ann: The gate is green")
	messages = append(messages, chat.Message{Seq: messages[0].Seq + 1, Role: llm.RoleAssistant, Text: "Noted."})
	s := Of(summarize.ItemsOf(messages, summarize.MaxMessage)).Support("The gate is green.", "", []int64{messages[0].Seq})
	check.That(t, len(s.Seqs) == 1 && s.Wrong == "", "got %+v", s)
}

// FuzzSupport: no text breaks the comparison, and a message says what it says.
func FuzzSupport(f *testing.F) {
	for _, text := range append(wordstest.Texts(), "5k, 1,200.50 and 12 # 3", "#12 １２", "x", "last Friday, 6 March 2026") {
		f.Add(text, "Ann lives in Bergen since 2019")
	}
	f.Fuzz(func(t *testing.T, statement, other string) {
		const most = 1000 // of a memory
		statement = statement[:min(len(statement), most)]
		at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		saying := func(seq int64, text string) chat.Message {
			return chat.Message{Seq: seq, Role: llm.RoleUser, Author: "Ann", AuthorID: "0", Text: text, Time: at}
		}
		items := summarize.ItemsOf([]chat.Message{saying(1, other), saying(2, statement)}, summarize.MaxMessage)
		name := chat.CleanName(other)
		Of(items, "Bob", name).With("", other).Support(statement, name, []int64{1, 3})
		own := Of(items).Support(statement, "", []int64{2})
		if len(words.Content(statement)) > 0 && summarize.Lean(statement) == statement && len(own.Seqs) == 0 {
			t.Errorf("%q says nothing of itself", statement)
		}
		if own.Wrong != "" || len(own.Names) > 0 {
			t.Errorf("%q does not support itself: %+v", statement, own)
		}
	})
}
