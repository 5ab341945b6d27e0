// What the built-in summarizer remembers: what people said of themselves, decided,
// planned or prefer, in their own words.

package compactor

import (
	"cmp"
	"slices"
	"strings"

	"cairn/llm"
)

// sign is a kind of memory and the words people say it with.
type sign struct {
	kind       string
	importance float64
	cues       []string // as they stand between blanks, in small letters
}

// signs are tried in this order: the first that fits tells the kind.
var signs = []sign{
	{"identity", 1.0, []string{
		" my name is ", " call me ", " i was born ", " i'm from ", " i am from ", " i come from ", " i live in ", " i'm living in ",
		" my pronouns ", " i work as ", " i work at ", " i work for ", " i identify ", " i'm a ", " i am a ", " i'm an ", " i am an ",
		" ich heiße ", " ich wohne ", " ich bin ", " je m'appelle ", " j'habite ", " me llamo ", " vivo en ", " меня зовут ", " я живу ",
		"我叫", "我住", "我是", "私の名前", "住んでいます", "저는",
	}},
	{"decision", 0.8, []string{
		" decided ", " i've decided ", " made up my mind ", " i chose ", " we chose ", " we agreed ", " i'm going with ", " settled on ",
		" entschieden ", " beschlossen ", " j'ai décidé ", " decidí ", " я решил ", " я решила ", " решили ", "决定", "決め",
	}},
	{"todo", 0.8, []string{
		" i need to ", " i have to ", " i've got to ", " i must ", " remind me ", " don't forget ", " remember to ", " i should ", " we need to ", " we have to ",
		" ich muss ", " il faut que ", " je dois ", " tengo que ", " мне нужно ", " я должен ", " я должна ", "我要", "我得", "なければ", "해야",
	}},
	{"goal", 0.9, []string{
		" i want to ", " i wanna ", " i hope to ", " i'd like to ", " i'd love to ", " i'm hoping ", " my goal ", " my dream ", " i dream ", " i plan ",
		" i'm planning ", " we're planning ", " planning to ", " i'm going to ", " gonna ", " i'll ", " we'll ", " i'm thinking of ", " i'm looking to ", " thinking about ",
		" ich will ", " ich möchte ", " je veux ", " je voudrais ", " quiero ", " я хочу ", "我想", "打算", "したい", "싶",
	}},
	{"preference", 0.7, []string{
		" i like ", " i love ", " i prefer ", " i enjoy ", " i hate ", " i dislike ", " i can't stand ", " favorite ", " favourite ", " i'm into ",
		" a fan of ", " i don't like ", " i'd rather ", " i'm allergic ", " i adore ",
		" ich mag ", " lieber ", " j'aime ", " je préfère ", " me gusta ", " prefiero ", " я люблю ", " мне нравится ", "我喜欢", "我爱", "我讨厌", "好きです", "좋아",
	}},
	{"event", 0.4, []string{
		" i went ", " we went ", " i got ", " we got ", " i just ", " i visited ", " i met ", " i bought ", " i attended ", " i joined ", " i started ",
		" i finished ", " i won ", " i had ", " we had ", " i made ", " i took ", " we took ", " i did ", " i saw ", " i ran ", " i moved ", " yesterday ", " last week ", " last night ",
	}},
	{"fact", 0.6, []string{" my ", " our ", " i have ", " we have ", " i've ", " we've ", " mein ", " meine ", " mon ", " ma ", " mi ", " мой ", " моя ", " у меня ", "我有", "我的", "私の"}},
	{"observation", 0.3, nil},
}

// maxMemory is the most tokens of one memory: it is one thing, not a page.
const maxMemory = 70

// draftMemories returns the memories of a span, best first: of each message of a
// person the sentences worth most. There are at most limit, and at most one for two
// messages.
func draftMemories(messages []Message, sentences []*sentence, limit int) []MemoryDraft {
	rarity := rarities(sentences)
	people := 0
	for _, m := range messages {
		if m.Role == llm.RoleUser {
			people++
		}
	}
	type ranked struct {
		MemoryDraft
		worth float64
	}
	var drafts []ranked
	for i := 0; i < len(sentences); {
		from := i
		for i < len(sentences) && sentences[i].message == sentences[from].message {
			i++
		}
		m := messages[sentences[from].message]
		if m.Role != llm.RoleUser {
			continue
		}
		if draft, worth := draft(m, sentences[from:i], rarity); worth > 0 {
			drafts = append(drafts, ranked{draft, worth})
		}
	}
	slices.SortStableFunc(drafts, func(a, b ranked) int { return cmp.Compare(b.worth, a.worth) })
	drafts = drafts[:min(len(drafts), max(limit, 0), (people+1)/2)]
	memories := make([]MemoryDraft, 0, len(drafts))
	for _, d := range drafts {
		memories = append(memories, d.MemoryDraft)
	}
	return memories
}

// draft makes one memory of a message's sentences; worth is 0 if they hold none.
func draft(m Message, sentences []*sentence, rarity map[string]float64) (_ MemoryDraft, worth float64) {
	telling := make([]*sentence, 0, len(sentences))
	for _, s := range sentences {
		if s.idle {
			continue
		}
		s.score = 0
		for _, term := range s.terms {
			s.score += s.weight * rarity[term]
		}
		telling = append(telling, s)
	}
	slices.SortStableFunc(telling, func(a, b *sentence) int { return cmp.Compare(b.score, a.score) })
	kept, tokens, best := telling[:0], 0, sign{}
	for _, s := range telling {
		if tokens += s.tokens; tokens > maxMemory && len(kept) > 0 {
			break
		}
		kept = append(kept, s)
		if found := signOf(s.text); found.importance > best.importance {
			best = found
		}
		worth += s.score
	}
	if len(kept) == 0 {
		return MemoryDraft{}, 0
	}
	slices.SortFunc(kept, func(a, b *sentence) int { return cmp.Compare(a.place, b.place) })
	texts := make([]string, len(kept))
	for i, s := range kept {
		texts[i] = s.text
	}
	return MemoryDraft{
		Kind: best.kind, Importance: best.importance, About: m.Author,
		Content:  kept[0].speaker + ": " + strings.Join(texts, " "),
		Messages: []int64{m.Seq},
	}, worth * (0.5 + best.importance)
}

// signOf returns the first sign that fits a sentence.
func signOf(text string) sign {
	plain := " " + strings.NewReplacer("’", "'", ",", " ", ".", " ", "!", " ", ";", " ").Replace(strings.ToLower(text)) + " "
	for _, s := range signs {
		for _, cue := range s.cues {
			if strings.Contains(plain, cue) {
				return s
			}
		}
	}
	return signs[len(signs)-1]
}
