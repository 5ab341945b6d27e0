package judge

import (
	"regexp"
	"strings"

	"cairn/internal/lazy"
	"cairn/internal/words"
)

// The judge's words, one line for each language: en de fr es it pt ru zh ja ko tr ar hi.

// anyOf returns a pattern that matches any of the lines' alternatives, ignoring case.
func anyOf(lines string) func() *regexp.Regexp {
	return lazy.Pattern(`(?i)` + strings.Join(strings.Split(strings.TrimSpace(lines), "\n"), "|"))
}

// task matches how models refer to their task, in more languages than the other lists: pl cs nl sv da fi hu uk ro el vi th id he fa,
// too. It alone condemns no text.
var task = anyOf(`
\b(?:summar(?:y|ies|i[sz])|conversations?\b|transcript|chat logs?\b|messages\b|this request|that request|the text\b)
zusammen(?:fass|zufass)|gespräch|unterhaltung|\bchat\b|anfrage|\btext\b
\br[ée]sum[ée]|\béchange|\btexte
\bresum|conversaci|\bcharla|\btexto
riassu|conversazion
\bconversa
обобщ|резюм|разговор|бесед|переписк|изложени
总结|总結|總結|摘要|概括|对话|對話|聊天记录|文本
要約|会話|テキスト
요약|대화
özet|konuşma|sohbet|\bmetn?i
لخيص|ملخص|محادث|النص
सारांश|बातचीत
podsum|streszcz|rozmow|konwersacj
shrn(?:u|out|ut)|souhrn|konverzac|rozhovor
samenvat|gesprek
sammanfatt|konversation|\bsamtal
opsummer|oppsummer|sammendrag
tiivist|yhteenve|keskustelu
összefoglal|összegez|beszélget
підсум|узагальн|розмов|листуванн
rezum|conversați|discuți
περίληψ|συνοψ|σύνοψ|συνομιλ
tóm tắt|trò chuyện|hội thoại
สรุป|สนทนา
ringkas|rangkum|percakapan
סיכום|סכם|שיחה
خلاصه|گفتگو|گفت.?وگو|مکالمه`)

// refusing matches how models say that they cannot, will not, or need something first.
var refusing = anyOf(`
(?-i:\bI['’ ])|\bplease\b|\b(?:could|can|would) you\b
\bich\b.*\b(?:nicht|kein\w*)\b|\bbitte\b|\b(?:können|könnten) sie\b|\bkannst du\b
je (?:ne )?(?:suis|peux)|\bveuillez\b|(?:pourriez|pouvez)-vous|s['’]il (?:vous|te) pla
no puedo|lo siento|por favor|¿puedes|¿podrías
non posso|mi dispiace|per favore|\bpuoi\b
não (?:posso|consigo)|desculpe|sinto muito|você pode
не могу|пожалуйста|извините
无法|無法|不能|抱歉|请提供|請提供|请把|发给我
できません|できない|申し訳|ください
수 없|죄송|주세요
[ae]m[ae]m\b|[ae]m[ıi]yorum|lütfen|üzgünüm|paylaş[ıi]r m[ıi]s[ıi]n
لا (?:أستطيع|يمكنني)|عذر|آسف|يرجى|هل يمكنك
नहीं (?:कर|दे)|क्षमा|माफ़|कृपया`)

// assistant matches how models refer to themselves.
var assistant = anyOf(`
\bas an? (?:ai|artificial|(?:large )?language model|assistant)(?: (?:language )?(?:model|assistant)\b|,)
\bals (?:ein )?ki(?:-|\b.*modell)
modèle de langage
modelo de (?:lenguaje|linguagem)
modello linguistico
языковая модель
语言模型
言語モデル
언어 모델
dil modeli
نموذجا? لغوي
भाषा मॉडल`)

// thinking matches how a text tells what its writer is about to do; in pl cs nl sv uk vi, too.
var thinking = anyOf(`
\b(?:I|we) (?:need|have|want|should|must|will|am going) |\bI['’]ll\b|\blet me\b|\blet['’]s\b|\bthe user (?:wants|asked|has)\b
\bich (?:muss|soll|werde|sollte|will)\b|\blass(?:en sie)? (?:mich|uns)\b|\bder nutzer\b
\bje (?:dois|vais)\b|\bil faut\b|\bl['’]utilisateur
\b(?:debo|tengo que|necesito|voy a)\b|\bel usuario\b
\b(?:devo|dovrei|sto per)\b|\bl['’]utente
\b(?:preciso|devo|tenho que|vou)\b|\bo usuário\b
мне (?:нужно|надо)|я (?:должен|должна)|давайте|пользовател
我(?:需要|要|得|应该|應該|来|先)|让我|用户
必要があ|しなければ|しましょう|ユーザー
해야|하겠|사용자
gerekiyor|meliyim|kullanıcı
أحتاج إلى|يجب أن|سأقوم|المستخدم
मुझे|उपयोगकर्ता
użytkowni|\b(?:muszę|powin(?:ienem|nam))\b
uživatel|\b(?:musím|měl[a]? bych)\b
\bgebruiker|\bik (?:moet|zal|ga)\b
användare|\bjag (?:bör|måste|ska)\b
користувач|\bя (?:маю|мушу)|мені (?:треба|потрібно)
người dùng|mình phải|tôi (?:cần|phải|nên)`)

// common are words that any text may have, and those of assistants, which appear in good and bad
// summaries alike.
var common = lazy.Set(`
help helped assist sorry request question questions answer provide provided share sharing content text message messages user
summary summarize summarized conversation transcript chat log people person participants information private personal today
need want like know think see let feel free ask asked say said tell told talk talked discuss discussed topic topics thing things
various several something anything nothing everything great good thank thanks please happy glad gladly sure time plan plans goals
decisions facts preferences open id from tool result agent type could cannot unable able first one also hello welcome
zusammenfassung gespräch résumé conversation resumen riassunto conversazione resumo conversa
important point points noted remember remembered later saved understood nothing
ich kann können nicht kein keine dabei hier das der die den dem und ein eine für mit sie bitte gerne helfen leider tut leid wie auf sich ist hat haben alle
les des une que pour vous nous pas est avec dans sur peux peut désolé bonjour aider aujourd bien sûr voici
los las una que por para con del puedo puede ayudar hola aquí hoy claro favor siento
non che per una con del della posso può aiutare ciao oggi ecco certo favore dispiace
não que para com uma uns dos das posso pode você ajudar olá hoje aqui claro favor
это как для что чтобы могу может помочь вам нужно сегодня вот конечно пожалуйста извините здравствуйте сожалению
我们 可以 无法 不能 请求 提供 需要 帮助 您好 您的 什么 抱歉 这个 一个 内容 对话 总结 完成 以下
です ます した して する こと とは でき きま ませ せん ください について 申し 訳あ ありま この その 内容 会話 要約
습니 니다 합니 해요 세요 있는 있어 없습 수있 죄송 송합 도와 드릴 요약 대화 내용 다음
bir için olarak bana size nasıl bugün yardımcı lütfen üzgünüm merhaba elbette
هذا هذه في من على أن هل يمكن مرحبا اليوم المساعدة عذرا آسف
मैं यह इस का की के में से है हूँ नहीं कर करें कृपया आज क्या आपकी सहायता मदद नमस्ते क्षमा`, commonKeys)

func commonKeys(text string) map[string]bool {
	keys := map[string]bool{}
	for _, w := range words.Cut(text) {
		runes := []rune(w.Folded)
		keys[string(runes[:min(len(runes), shortKey)])] = true
	}
	return keys
}
