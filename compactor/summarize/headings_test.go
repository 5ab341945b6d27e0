package summarize

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/tokens"
	"cairn/transcript"
	"cairn/words"
)

// A worker declines in the language of its request.
func TestRefusalsInEachLanguage(t *testing.T) {
	for text, declined := range map[string]string{
		"Wir verschieben den Start der Garten-App auf den 9. Mai, weil die Druckerei im Verzug ist.":             "Es tut mir leid, aber ich kann diese Unterhaltung nicht zusammenfassen.",
		"Aplazamos el lanzamiento de la aplicación del jardín al 9 de mayo, porque la imprenta va con retraso.":  "Lo siento, no puedo resumir esta conversación.",
		"Nous repoussons le lancement de l'application du jardin au 9 mai, parce que l'imprimeur est en retard.": "Je suis désolé, mais je ne peux pas résumer cette conversation.",
		"Vamos adiar o lançamento do aplicativo do jardim para 9 de maio, porque a gráfica está atrasada.":       "Desculpe, não posso resumir esta conversa.",
		"印刷所が遅れているので、庭アプリの公開を5月9日に延期します。":                                                                        "申し訳ありませんが、この会話を要約することはできません。",
		"因为印刷厂延误了，我们把花园应用的发布推迟到5月9日。":                                                                            "抱歉，我无法总结这段对话。",
	} {
		check.That(t, judged(declined, said("Ines: "+text)) != nil, "%s: accepted", declined)
	}
}

// Small models translate the headings that the prompt asks them to keep.
func TestPartsAreJoinedByHeading(t *testing.T) {
	for _, summary := range []string{
		"## Entscheidungen\n- Drei (#1).\n## Offene Fragen\n- Vier (#2).", "**Decisiones:**\n- Drei (#1).\n**Preguntas abiertas:**\n- Vier (#2).",
		"## Décisions\n- Drei (#1).\n## Questions ouvertes\n- Vier (#2).", "## Decisões\n- Drei (#1).\n## Perguntas em aberto\n- Vier (#2).",
		"## 決定事項\n- Drei (#1).\n## 未解決の質問\n- Vier (#2).", "## 决定\n- Drei (#1).\n## 未解决的问题：\n- Vier (#2).",
	} {
		joined := JoinParts([]string{"## Decisions\n- Eins (#3).\n## Open questions\n- Zwei (#4).", summary})
		check.Equal(t, summary, joined, "## Decisions\n- Eins (#3).\n- Drei (#1).\n## Open questions\n- Zwei (#4).\n- Vier (#2).")
	}
	check.Equal(t, "parts with text before the headings", JoinParts([]string{
		"## Decisions\n- Ada buys the boat (#3).\n## Open questions\n- Who pays? (#4)",
		"Bob joined.\n\n**Goals:**\n- Sail in May (#9).\n### decisions\n- Bob pays, see Decisions above (#8).\n",
		"They talked about facts: none.",
	}), "Bob joined.\nThey talked about facts: none.\n## Goals\n- Sail in May (#9).\n## Decisions\n- Ada buys the boat (#3).\n"+
		"- Bob pays, see Decisions above (#8).\n## Open questions\n- Who pays? (#4)")
	check.Equal(t, "parts without headings", JoinParts([]string{"One.", "Two."}), "One.\nTwo.")
}

func TestExtractiveRollupHasNoEmptyHeadings(t *testing.T) {
	const structured = "## Goals\n- Ada wants to sail to Lisbon in May 2026 (#3).\n## Decisions\n" +
		"- Ada and Bob buy the boat Mulligan for 12,000 EUR (#4, #9).\n**Open questions:**\n* Who feeds the cat? (#20)"
	got := Extract([]chat.Message{WrittenOf(transcript.Summary{Text: structured, FromTime: monday})}, 200, 0, "").Text
	check.Contains(t, "summary", got, "sail to Lisbon", "12,000 EUR (#4, #9)", "cat? (#20)")
	check.Lacks(t, "summary", strings.ReplaceAll(got, "#4", ""), "*", "##", "- ", "Goals")
	check.Contains(t, "what a person writes", Extract(said("Ada: Facts:\nI sold the boat Mulligan."), 200, 0, "").Text, "Facts")
}

func sectioned(each int) string {
	var b strings.Builder
	for _, section := range []string{"Goals", "**Decisions**", "## People", "Preferences:", "Facts", "Open questions"} {
		fmt.Fprintf(&b, "%s\n", section)
		for i := range each {
			fmt.Fprintf(&b, "- %s item %d: Ada said that the thing number %d matters to Bob. ß界\n", strings.Trim(section, "#* :"), i, i)
		}
	}
	return b.String()
}

func TestLeastImportantSectionIsShortenedFirst(t *testing.T) {
	check.SkipUnderRace(t)
	text := strings.TrimSpace(sectioned(14))
	before := []string{"Facts", "Preferences", "People", "Goals", "Decisions", "Open questions"}
	whole := tokens.Estimate(text)
	for limit := whole - 1; limit > 40; limit -= 13 {
		short := ShortenSummary(text, limit)
		if n := tokens.Estimate(short); n > limit || n < limit-60 && limit > 100 {
			t.Fatalf("got %d tokens, want at most %d", n, limit)
		}
		check.Require(t, utf8.ValidString(short) && strings.Contains(short, shortened), "at %d tokens: got %q", limit, short)
		gone := true // a section loses something only if those before it have nothing left
		for _, section := range before {
			left := strings.Count(short, section+" ")
			check.Require(t, left <= 0 || left >= 14 || gone,
				"at %d tokens of %s %d are left while a less important section has some:\n%s", limit, section, left, short)
			gone = gone && left == 0
		}
		for line := range strings.Lines(short) {
			if !strings.Contains(text, strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(strings.TrimSpace(line), " "+shortened), shortened+" "))) && strings.TrimSpace(line) != shortened {
				t.Fatalf("at %d tokens a sentence is cut: %q", limit, line)
			}
		}
		check.Require(t, limit <= 120 || strings.Contains(short, "Open questions item 13"),
			"at %d tokens the newest open question is gone:\n%s", limit, short)
	}
}

func TestSummaryWithoutHeadingsIsShortenedInMiddle(t *testing.T) {
	for _, sentence := range []string{"Ada moved house %d times.", "王芳第%d次去了成都。"} {
		var all []string
		for i := range 60 {
			all = append(all, fmt.Sprintf(sentence, i))
		}
		text := strings.Join(all, " ")
		short := ShortenSummary(text, tokens.Estimate(text)/2)
		got := words.Sentences(strings.ReplaceAll(short, shortened, "\n"+shortened+"\n"))
		if got[0] != all[0] || got[len(got)-1] != all[59] || strings.Count(short, shortened) != 1 || tokens.Estimate(short) > tokens.Estimate(text)/2 {
			t.Errorf("got %q", short)
		}
		for _, s := range got {
			check.That(t, s == shortened || strings.Contains(text, s), "a sentence is cut: %q", s)
		}
	}
}
