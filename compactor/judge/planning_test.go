package judge

import (
	"strings"
	"testing"

	"cairn/compactor/summarize"
	"cairn/testkit/check"
)

// planned are sentences with which a thought about the task begins and ends, by language.
var planned = map[string][2]string{
	"en": {"Okay, the user wants me to summarize the conversation.", "I should keep it short."},
	"de": {"Okay, der Nutzer will eine Zusammenfassung des Gesprächs.", "Ich muss das kurz halten."},
	"fr": {"Bon, l'utilisateur veut que je résume la conversation.", "Je dois être bref."},
	"es": {"Vale, el usuario quiere que resuma la conversación.", "Debo ser breve."},
	"it": {"Allora, l'utente vuole un riassunto della conversazione.", "Devo essere breve."},
	"pt": {"Certo, o usuário quer um resumo da conversa.", "Preciso ser breve."},
	"ru": {"Итак, пользователь просит обобщить разговор.", "Мне нужно писать кратко."},
	"zh": {"好的，用户让我总结这段对话。", "我应该写得简短。"},
	"ja": {"さて、ユーザーは会話の要約を求めている。", "短く書く必要がある。"},
	"ko": {"자, 사용자가 대화 요약을 원한다.", "짧게 써야 하겠다."},
	"tr": {"Tamam, kullanıcı konuşmanın özetini istiyor.", "Kısa tutmam gerekiyor."},
	"ar": {"حسنا، المستخدم يريد تلخيص المحادثة.", "يجب أن أختصر."},
	"hi": {"ठीक है, उपयोगकर्ता बातचीत का सारांश चाहता है।", "मुझे संक्षिप्त रहना है।"},
	"pl": {"Dobrze, użytkownik chce podsumowania rozmowy.", "Powinienem pisać krótko."},
	"nl": {"Oké, de gebruiker wil een samenvatting van het gesprek.", "Ik moet het kort houden."},
	"sv": {"Okej, användaren vill ha en sammanfattning av samtalet.", "Jag bör fatta mig kort."},
	"cs": {"Dobře, uživatel chce shrnutí konverzace.", "Měl bych psát stručně."},
	"uk": {"Отже, користувач хоче підсумок розмови.", "Маю писати коротко."},
	"vi": {"Được rồi, người dùng muốn tóm tắt cuộc trò chuyện.", "Mình phải viết ngắn."},
}

// However right the rest of it is, a text that begins by planning is a thought; one that ends so nearly always.
func TestThoughtsFullOfTheSpanAreNoSummary(t *testing.T) {
	ended := 0
	all := 0
	for _, s := range goodSamples(t) {
		plan, known := planned[s.lang]
		if !known {
			continue
		}
		judge := Of(summarize.ItemsOf(s.messages, summarize.MaxMessage))
		summary := judge.TextOf(s.summary)
		check.That(t, !judge.plans(summary), "%s: a summary is taken for a thought: %q", s.lang, summary)
		for _, text := range []string{plan[0] + " " + summary + " " + plan[1], plan[0] + " " + summary} {
			accepted := judge.TextOf(text)
			why := judge.Refuses(accepted, "", "", 1000)
			check.That(t, why != "" || !strings.Contains(accepted, plan[0]), "%s: %q is accepted", s.lang, text)
		}
		all++
		if judge.Refuses(judge.TextOf(summary+" "+plan[1]), "", "", 1000) == "" {
			ended++
		}
	}
	check.That(t, all >= 100 && ended*10 <= all, "%d of %d summaries that end in a plan are accepted", ended, all)
}

func TestPlansAmongFactsAreNoSummary(t *testing.T) {
	for _, text := range []string{
		"Ines bought a wooden sailing boat from her uncle in Lisbon. Paul quits his job at the bank on June 30. I should mention both, and the regatta on May 12. Let me keep it short.",
		"So Ines bought a boat in Lisbon, and Paul quits the bank on June 30. I need to write that as a list with citations.",
		"Okay, the user wants me to summarize Ines and Paul: the boat from Lisbon, the uncle, the bank, June 30, the regatta on May 12.",
		"Let me see. Ines: bought a wooden sailing boat, uncle, Lisbon. Paul: quits bank June 30. Need to cite #3 and #6. Output should be a list.",
		"Ines bought a wooden sailing boat in Lisbon. Paul quits on June 30. Wait, I must not forget the regatta on May 12. I'll write this as a list now.",
	} {
		check.Equal(t, text, judged(text, harbour), error(refusedReasoning))
	}
	for _, text := range []string{
		"Ines said that she needs to repaint the hull before the regatta on May 12. Paul quits his job at the bank on June 30.",
		"Ines: I need to repaint the hull before the regatta on May 12. Paul quits the bank on June 30.",
		"We have agreed that Paul's last day at the bank is June 30. Ines bought a wooden sailing boat in Lisbon.",
		"- Ines bought a wooden sailing boat in Lisbon (#3).\n- I will remind Paul (#6).\n- I need to look up the regatta (#8).",
		"Paul said \"Let me think\" and then quit his job at the bank; June 30 is his last day. Ines bought a boat in Lisbon.",
		"In this conversation Ines and Paul talk about a wooden sailing boat. Ines bought it from her uncle in Lisbon. They laughed a lot.",
	} {
		check.NoError(t, judged(text, harbour))
	}
	asked := said("Ada: Please summarize my article about the lighthouse of Porto.", "Bob: The user wants bullets, Ada.", "Ada: Bullets, then. It opened in 1886 and has 44 steps.")
	check.NoError(t, judged("The user wants a summary of the article about the lighthouse of Porto, in bullets. It opened in 1886 and has 44 steps.", asked))
}
