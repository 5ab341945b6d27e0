// Instructions in a summary. The chat's model reads summaries as data about the past, but a line that
// talks to it may still be followed. So it stays only as the words of the person who wrote it.

package judge

import (
	"strings"

	"cairn/compactor/summarize"
	"cairn/internal/lazy"
	"cairn/llm"
	"cairn/transcript"
)

var (
	// overriding matches how a text tells its reader to drop earlier instructions or to be someone else:
	// one line for each language: en de fr es it pt nl pl ru zh ja ko tr ar hi.
	overriding = anyOf(`
\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instructions?|prompts?|rules|guidelines|directives|constraints)\b|\byou are now\b|\bpretend (?:to be|you are)\b|\b(?:new|updated) (?:system )?instructions?\s*:|\b(?:reveal|print|output|repeat) (?:your|the) (?:system )?(?:prompt|instructions)\b
(?:ignorier|missachte|vergiss|vergesst).{0,40}(?:anweisung|vorgabe|regeln|prompt)
(?:ignore[zrs]?|oublie[zrs]?).{0,40}(?:instructions|consignes|règles|directives)
(?:ignor[ae]|olvida|descarta)[a-z]*.{0,40}(?:instrucciones|reglas|órdenes|indicaciones)
(?:ignor[ai]|dimentica)[a-z]*.{0,40}(?:istruzioni|regole)
(?:ignor[ea]|esqueça)[a-z]*.{0,40}(?:instruções|regras)
(?:negeer|vergeet).{0,40}(?:instructies|regels|aanwijzingen)
(?:zignoruj|ignoruj|zapomnij).{0,40}(?:instrukcj|polece|zasad)
(?:игнорируй|проигнорируй|забудь|не обращай).{0,60}(?:инструкц|указани|правил)
(?:忽略|无视|無視|忘记|忘掉).{0,20}(?:指令|指示|规则|規則|提示)
(?:指示|命令|ルール|プロンプト).{0,12}(?:無視|忘れ)
(?:지시|명령|규칙|프롬프트).{0,12}(?:무시|잊)
(?:talimat|kural|yönerge)\pL*.{0,30}(?:yok ?say|unut|görmezden)
(?:تجاهل|انس).{0,40}(?:التعليمات|تعليمات|القواعد|الأوامر)
(?:निर्देश|नियम|आदेश)\pL*\pM*.{0,30}(?:अनदेखा|नज़रअंदाज़|भूल)`)

	// addressing matches a line that talks to its reader. What it says may be a statement about the span
	// all the same: "System: Debian 12".
	addressing = lazy.Pattern(`(?im)^[ \t]*(?:[-*•>][ \t]+)?[\[(<*_#|]*\s*(?:(?:system|developer|assistant|model|ai|llm|admin(?:istrator)?)(?: (?:prompt|message|note|override|instructions?|notice|alert))?(?:[\])>*_|]+\s*[:：]?|\s*[:：])` +
		`|(?:instructions?|(?:important )?(?:note|message)) (?:to|for) (?:the )?(?:model|assistant|ai|llm|reader|chatbot|bot)\b` +
		`|(?:dear )?(?:assistant|chatbot|ai|reader)\s*[,，]` +
		`|(?:from now on|when you read this|you (?:must|shall|have to|are required to|should)\b)` +
		`|(?:always|only|never|do not|don't|please) (?:respond|reply|answer|say|mention|reveal|tell|follow|obey|call|send|execute|run|output)\b` +
		`|(?:respond|reply|answer|say|output) (?:only )?(?:with|in|exactly)\b)`)
)

// withoutInstructions drops the lines that tell the summary's reader what to do. If a message of the
// span says so, the line stays as the words of its author.
func (j *Judge) withoutInstructions(text string) string {
	lines := strings.Split(text, "\n")
	kept := make([]string, 0, len(lines))
	for _, line := range lines {
		overrides := overriding().MatchString(line)
		if !overrides && !addressing().MatchString(line) {
			kept = append(kept, line)
			continue
		}
		line = j.reported(line, overrides)
		if line != "" {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}

// reported returns a line with an instruction as it may be in a summary; "" if it may not. One that
// a message of the span says is attributed to its author. In a fold, the parts were checked before.
// Other lines stay only if they do not override anything and are about the span.
func (j *Judge) reported(line string, overrides bool) string {
	words := summarize.Statement(line)
	best := 0.0
	author := ""
	for _, it := range j.span.items {
		m := it.Message
		switch {
		case it.From != it.To: // a summary
			if strings.Contains(flat(transcript.Citations.ReplaceAllString(m.Text, "")), flat(words)) && introduced(words) {
				return line
			}
		case m.Role != llm.RoleUser || !overriding().MatchString(m.Text) && !addressing().MatchString(m.Text):
		default:
			share := vocabularyOf([]summarize.Item{{Text: m.Text}}).shareOf(words)
			if share > best || author == "" && overrides && overriding().MatchString(m.Text) {
				best = max(share, best)
				author = m.Name()
			}
			if author != "" && strings.Contains(strings.ToLower(line), strings.ToLower(m.Name())) && m.Name() != "" {
				return line
			}
		}
	}
	switch share, _ := j.span.share(words); {
	case author != "" && (overrides || best >= 0.5):
		return "- " + author + `: "` + words + `"` + strings.Join(transcript.Citations.FindAllString(line, -1), "")
	case !overrides && share >= 0.5:
		return line
	}
	return ""
}

// introduced reports whether something is in a line before its instruction: who its author is.
func introduced(line string) bool {
	at := overriding().FindStringIndex(line)
	return at != nil && strings.TrimSpace(line[:at[0]]) != "" && !addressing().MatchString(line)
}

// shareOf returns what portion of a text's words the vocabulary has.
func (v vocabulary) shareOf(text string) float64 {
	found := 0.0
	all := 0.0
	for _, k := range keysOf(text) {
		all += k.weight
		if v.keys[k.short] || v.keys[k.stem] {
			found += k.weight
		}
	}
	return found / max(all, 1)
}
