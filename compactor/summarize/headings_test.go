package summarize

import (
	"strings"
	"testing"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/llm"
)

// translations are a conversation in each language, and a summary by a model that also translates
// the headings.
var translations = []struct{ language, said, more, summary, heading string }{
	{
		"de", "Wir verschieben den Start der Garten-App auf den 9. Mai, weil die Druckerei im Verzug ist.", "Wer bringt den Beamer zur Probe mit?",
		"## Entscheidungen\n- Ines hat den Start der Garten-App auf den 9. Mai verschoben, weil die Druckerei im Verzug ist (#1).\n## Offene Fragen\n- Tom fragte, wer den Beamer zur Probe mitbringt (#2).", "Offene Fragen",
	},
	{
		"es", "Aplazamos el lanzamiento de la aplicación del jardín al 9 de mayo, porque la imprenta va con retraso.", "¿Quién trae el proyector al ensayo?",
		"**Decisiones:**\n- Ines aplazó el lanzamiento de la aplicación del jardín al 9 de mayo, porque la imprenta va con retraso (#1).\n**Preguntas abiertas:**\n- Tom preguntó quién trae el proyector al ensayo (#2).", "Preguntas abiertas",
	},
	{
		"fr", "Nous repoussons le lancement de l'application du jardin au 9 mai, parce que l'imprimeur est en retard.", "Qui apporte le projecteur à la répétition ?",
		"## Décisions\n- Ines a repoussé le lancement de l'application du jardin au 9 mai, parce que l'imprimeur est en retard (#1).\n## Questions ouvertes\n- Tom a demandé qui apporte le projecteur à la répétition (#2).", "Questions ouvertes",
	},
	{
		"pt", "Vamos adiar o lançamento do aplicativo do jardim para 9 de maio, porque a gráfica está atrasada.", "Quem traz o projetor para o ensaio?",
		"## Decisões\n- Ines adiou o lançamento do aplicativo do jardim para 9 de maio, porque a gráfica está atrasada (#1).\n## Perguntas em aberto\n- Tom perguntou quem traz o projetor para o ensaio (#2).", "Perguntas em aberto",
	},
	{
		"ja", "印刷所が遅れているので、庭アプリの公開を5月9日に延期します。", "リハーサルに誰がプロジェクターを持ってきますか?",
		"## 決定事項\n- Ines は、印刷所が遅れているため、庭アプリの公開を5月9日に延期した (#1)。\n## 未解決の質問\n- Tom は、リハーサルに誰がプロジェクターを持ってくるか尋ねた (#2)。", "未解決の質問",
	},
	{
		"zh", "因为印刷厂延误了，我们把花园应用的发布推迟到5月9日。", "谁带投影仪来排练？",
		"## 决定\n- 因为印刷厂延误了，Ines 把花园应用的发布推迟到5月9日 (#1)。\n## 未解决的问题：\n- Tom 问谁带投影仪来排练 (#2)。", "未解决的问题",
	},
}

func TestSummariesWithTranslatedHeadings(t *testing.T) {
	for _, c := range translations {
		t.Run(c.language, func(t *testing.T) {
			said := []chat.Message{
				{Seq: 1, Role: llm.RoleUser, Author: "Ines", Text: c.said + " " + strings.Repeat("…", 80)},
				{Seq: 2, Role: llm.RoleUser, Author: "Tom", Text: c.more},
			}
			if err := Judge(c.summary, said); err != nil {
				t.Errorf("got rejection %v", err)
			}
			joined := JoinParts([]string{"## Decisions\n- Eins (#3).\n## Open questions\n- Zwei (#4).", c.summary})
			check.Equal(t, "with another heading", strings.Count(joined, "\n## Open questions\n"), 1)
			check.Lacks(t, "with another heading", joined, c.heading)
			check.HasPrefix(t, "with another heading", joined, "## Decisions\n- Eins (#3).\n- ")
			bare := withoutHeadings(c.summary)
			check.Lacks(t, "without headings", bare, c.heading)
			check.Contains(t, "without headings", bare, "(#2)")
		})
	}
}

// TestRefusalsInEachLanguage: a worker declines in the language of its request.
func TestRefusalsInEachLanguage(t *testing.T) {
	for language, text := range map[string]string{
		"de": "Es tut mir leid, aber ich kann diese Unterhaltung nicht zusammenfassen.",
		"es": "Lo siento, no puedo resumir esta conversación.",
		"fr": "Je suis désolé, mais je ne peux pas résumer cette conversation.",
		"pt": "Desculpe, não posso resumir esta conversa.",
		"ja": "申し訳ありませんが、この会話を要約することはできません。",
		"zh": "抱歉，我无法总结这段对话。",
	} {
		for _, c := range translations {
			if c.language != language {
				continue
			}
			said := []chat.Message{{Seq: 1, Role: llm.RoleUser, Author: "Ines", Text: c.said}, {Seq: 2, Role: llm.RoleUser, Author: "Tom", Text: c.more}}
			if err := Judge(text, said); err == nil {
				t.Errorf("%s: accepted", text)
			}
		}
	}
}
