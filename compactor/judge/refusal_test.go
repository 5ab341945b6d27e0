package judge

import (
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/testkit/check"
)

// declining are the texts of bad.txt in languages whose words of refusal are in no list.
func declining(t *testing.T) map[string][]string {
	all := map[string][]string{}
	for line := range strings.SplitSeq(readJudgeFile(t, "bad.txt"), "\n") {
		lang, text, _ := strings.Cut(line, "\t")
		if !slices.Contains(strings.Fields("en de fr es it pt ru zh ja ko tr ar hi"), lang) {
			all[lang] = append(all[lang], text)
		}
	}
	all["sw"] = []string{"Samahani, siwezi kufupisha mazungumzo haya kwa sasa."}
	all["eu"] = []string{"Barkatu, baina ezin dut elkarrizketa hau laburbildu."}
	all["ta"] = []string{"மன்னிக்கவும், இந்த உரையாடலை என்னால் சுருக்க முடியாது."}
	return all
}

func TestRefusalsAreKnownWithoutTheirWords(t *testing.T) {
	spans := map[string][]chat.Message{}
	for _, s := range goodSamples(t) {
		spans[s.lang] = append(spans[s.lang], s.messages...)
	}
	all := declining(t)
	check.That(t, len(all) >= 17, "got texts in %d languages", len(all))
	for lang, texts := range all {
		for _, text := range texts {
			for of, messages := range map[string][]chat.Message{"of its language": spans[lang], "in English": harbour} {
				if messages == nil || of == "in English" && strings.HasSuffix(text, ":") {
					continue
				}
				err := judged(text, messages)
				check.That(t, declines(err) || err == refusedReasoning || strings.HasSuffix(text, ":") && err != nil, "%s, a span %s: %q: got %v", lang, of, text, err)
			}
		}
	}
}

func declines(err error) bool {
	refusal, ok := err.(Refusal)
	return ok && refusal.Declines()
}

// Names of who speaks are in every refusal that names them.
func TestRefusalsInAnotherLanguageThatNameSpeakersAreNoSummary(t *testing.T) {
	judge := Of(summarize.ItemsOf(harbour, summarize.MaxMessage))
	for _, text := range []string{
		"Je refuse de résumer cet échange entre Ines et Paul.",
		"Nie mogę podsumować rozmowy Ines i Paula o łodzi w Lisbon.",
		"Не стану подводить итоги: это личный разговор Ines и Paul.",
	} {
		why := judge.Refuses(judge.TextOf(text), "", "", 1000)
		check.That(t, why != "", "%q is a summary", text)
		check.That(t, !judge.Supports(text), "%q is supported", text)
	}
}

// A recap of a few words is no refusal, and people must not read that the model refused.
func TestShortSummariesAreNotCalledRefusals(t *testing.T) {
	for _, text := range []string{
		"Two friends caught up with each other after a while.",
		"They exchanged personal news.",
		"A pleasant chat between acquaintances, nothing more.",
	} {
		err := judged(text, harbour)
		check.That(t, err == refusedVague || err == refusedNothing, "%q: got %v", text, err)
	}
}

func TestThinkingAloudIsNoSummary(t *testing.T) {
	for _, text := range []string{
		"Okay, so I need to summarize the conversation. First, Ines bought a wooden sailing boat from her uncle in Lisbon. Then Paul decided to quit his job at the bank, and the last day is June 30. I should mention the regatta on May 12, and that",
		"Alright, let me summarize this chat. Ines bought a boat. Wait, Paul also talks about shellfish. I should",
		"The user wants a summary of the conversation between Ines and Paul. Ines says she bought a boat from her uncle. Paul quits his job. Let me write it",
		"Okay, ich muss das Gespräch zusammenfassen. Ines hat in Lisbon ein boat gekauft. Paul quits his job. Ich sollte",
		"Dobrze, muszę podsumować rozmowę. Najpierw przeczytam wiadomości. Ines kupiła boat w Lisbon. Potem Paul. Powinienem",
	} {
		err := judged(text, harbour)
		check.That(t, err == refusedReasoning || declines(err) && len(text) < 200, "%q: got %v", text, err)
	}
	for _, text := range []string{
		"In this conversation Ines and Paul talk about a wooden sailing boat. Ines bought it from her uncle in Lisbon. Paul quits his job at the bank on June 30.",
		"Ines and Paul caught up. She bought a wooden sailing boat from her uncle in Lisbon; the hull is repainted before the regatta on May 12. He quits the bank",
	} {
		check.NoError(t, judged(text, harbour))
	}
}

var moving = said("Аня: Мы переносим запуск приложения на 9 мая, типография опаздывает.", "Олег: Аванс 1200 евро платит Аня до 3 апреля.",
	"Аня: Сервер nas-7 переедет в Казань, порт 8443.", "Олег: Хорошо, я куплю диски за 480 евро.", "Аня: Встречаемся 14 мая в Казани.")

func TestRefusalNamesTheLanguage(t *testing.T) {
	const english = "## Decisions\n- Anya moved the launch to 9 May 2026, because the printer is late (#1).\n- Anya pays the deposit of 1200 euros by 3 April (#2).\n" +
		"## Facts\n- The server nas-7 moves to Kazan, port 8443 (#3).\n- Oleg buys disks for 480 euros (#4)."
	chinese := said("王芳: 我们把花园应用的发布推迟到5月9日。", "李雷: 押金1200欧元由王芳支付。", "王芳: 服务器在成都，端口8443。")
	polish := said("Zofia: Opiekun psa Reksa choruje, kto go weźmie w piątek?", "Adam: Ja wezmę, ale potrzebuję klucza i karmy o 17:45.", "Zofia: Klucz jest u sąsiadki, karma w szafce pod oknem.")
	for _, c := range []struct {
		messages []chat.Message
		text     string
		want     []string
	}{
		{moving, english, []string{"wrote in English", "are in Russian", "write it in Russian"}},
		{chinese, "- The launch of the garden app is moved to 9 May (#1).\n- Wang Fang pays the deposit of 1200 euros (#2).", []string{"in English", "are in Chinese", "write it in Chinese"}},
		{harbour, "- Инес выкупила лодку у дяди в Лиссабоне (#3).\n- Павел уходит из банка 30 июня (#6).", []string{"in Russian", "are in English", "write it in English"}},
		{polish, "## Facts\n- The caretaker of the dog is ill, and somebody has to take it for a walk (#1).\n- They will meet at 5 in the afternoon; food is needed (#2).\n- The neighbour keeps a key, and the bowl stands in the cupboard below the window (#3).", []string{"in English", "are in Polish", "write it in Polish"}},
	} {
		judge := Of(summarize.ItemsOf(c.messages, summarize.MaxMessage))
		why := judge.Refuses(judge.TextOf(c.text), "", "", 1000)
		check.That(t, why.OfLanguage(), "%q: got %q", c.text, why)
		check.Contains(t, "advice", judge.Advice(why), c.want...)
	}
	judge := Of(summarize.ItemsOf(moving, summarize.MaxMessage))
	check.That(t, judge.Supports(english), "a right summary in another language is not supported")
	for name, text := range map[string]string{
		"without numbers and names":        "## Decisions\n- The launch is moved, because the printer is late (#1).\n- Somebody pays.",
		"with other numbers":               strings.NewReplacer("9 May", "19 June", "1200", "9900", "8443", "7777", "480", "910").Replace(english),
		"with citations of other messages": strings.ReplaceAll(english, "(#4)", "(#4711)"),
		"that says hardly anything":        "They met on 14 May.",
	} {
		check.That(t, !judge.Supports(text), "a summary %s is supported", name)
	}
	check.Equal(t, "a refusal in another language", judge.Refuses("I'm sorry, but I can't help with that request.", "", "", 1000), RefusedDeclined)
}

// Each reason says what happened, and the advice what to do about it.
func TestRefusalsSayWhatToDo(t *testing.T) {
	judge := Of(summarize.ItemsOf(harbour, summarize.MaxMessage))
	for why, todo := range map[Refusal]string{
		RefusedEmpty: "write the summary", refusedCutOff: "shorter", TooLarge(90, 40): "shorter", refusedTools: "without a call", refusedReasoning: "without thoughts",
		refusedInstructions: "your own words", refusedEcho: "your own words", refusedBefore: "your own words", refusedNothing: "names and numbers",
	} {
		check.Contains(t, "advice", judge.Advice(why), string(why)+"; ", todo)
	}
}

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

func TestBadNewsAndCodeAreNoRefusals(t *testing.T) {
	for _, text := range []string{
		"К сожалению, сервер упал; Аня чинит его.", "Я решил переехать в Турин в мае.", "我决定五月搬到都灵。",
		"for ch := range in { if a < b && c > d { out <- &x } }", "a <summary>of</b> x </details>",
	} {
		check.That(t, !Declines(text), "%q: recognized as a refusal", text)
	}
}
