package summarize

import (
	"testing"

	"cairn/chat"
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
