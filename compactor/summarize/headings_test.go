package summarize

import (
	"testing"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/llm"
)

// TestRefusalsInEachLanguage: a worker declines in the language of its request.
func TestRefusalsInEachLanguage(t *testing.T) {
	for said, declined := range map[string]string{
		"Wir verschieben den Start der Garten-App auf den 9. Mai, weil die Druckerei im Verzug ist.":             "Es tut mir leid, aber ich kann diese Unterhaltung nicht zusammenfassen.",
		"Aplazamos el lanzamiento de la aplicación del jardín al 9 de mayo, porque la imprenta va con retraso.":  "Lo siento, no puedo resumir esta conversación.",
		"Nous repoussons le lancement de l'application du jardin au 9 mai, parce que l'imprimeur est en retard.": "Je suis désolé, mais je ne peux pas résumer cette conversation.",
		"Vamos adiar o lançamento do aplicativo do jardim para 9 de maio, porque a gráfica está atrasada.":       "Desculpe, não posso resumir esta conversa.",
		"印刷所が遅れているので、庭アプリの公開を5月9日に延期します。":                                                                        "申し訳ありませんが、この会話を要約することはできません。",
		"因为印刷厂延误了，我们把花园应用的发布推迟到5月9日。":                                                                            "抱歉，我无法总结这段对话。",
	} {
		if err := Judge(declined, []chat.Message{{Seq: 1, Role: llm.RoleUser, Author: "Ines", Text: said}}); err == nil {
			t.Errorf("%s: accepted", declined)
		}
	}
}

// Small models translate the headings that the prompt asks them to keep.
func TestTranslatedHeadingsAreJoined(t *testing.T) {
	for _, summary := range []string{
		"## Entscheidungen\n- Drei (#1).\n## Offene Fragen\n- Vier (#2).", "**Decisiones:**\n- Drei (#1).\n**Preguntas abiertas:**\n- Vier (#2).",
		"## Décisions\n- Drei (#1).\n## Questions ouvertes\n- Vier (#2).", "## Decisões\n- Drei (#1).\n## Perguntas em aberto\n- Vier (#2).",
		"## 決定事項\n- Drei (#1).\n## 未解決の質問\n- Vier (#2).", "## 决定\n- Drei (#1).\n## 未解决的问题：\n- Vier (#2).",
	} {
		joined := JoinParts([]string{"## Decisions\n- Eins (#3).\n## Open questions\n- Zwei (#4).", summary})
		check.Equal(t, summary, joined, "## Decisions\n- Eins (#3).\n- Drei (#1).\n## Open questions\n- Zwei (#4).\n- Vier (#2).")
	}
}
