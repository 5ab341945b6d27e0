// What the extractive summarizer remembers: what people said of themselves, decided,
// planned or prefer, in their own words.

package compactor

import (
	"cmp"
	"slices"
	"strings"

	"cairn/llm"
)

// cues are the words by which people show what kind of thing they say, in the
// order in which they are tried. They stand between blanks, in small letters.
var cues = []struct {
	kind  string
	words []string
}{
	{"identity", []string{
		" my name is ", " call me ", " i was born ", " i'm from ", " i am from ", " i come from ", " i live in ", " i'm living in ",
		" my pronouns ", " i work as ", " i work at ", " i work for ", " i identify ", " i'm a ", " i am a ", " i'm an ", " i am an ",
		" ich heiße ", " ich wohne ", " ich bin ", " je m'appelle ", " j'habite ", " me llamo ", " vivo en ", " меня зовут ", " я живу ",
		"我叫", "我住", "我是", "私の名前", "住んでいます", "저는",
	}},
	{"decision", []string{
		" decided ", " made up my mind ", " i chose ", " we chose ", " we agreed ", " i'm going with ", " settled on ",
		" entschieden ", " beschlossen ", " j'ai décidé ", " decidí ", " я решил ", " я решила ", "决定", "決め",
	}},
	{"todo", []string{
		" i need to ", " i have to ", " i've got to ", " i must ", " remind me ", " don't forget ", " remember to ", " i should ",
		" we need to ", " we have to ", " ich muss ", " je dois ", " tengo que ", " мне нужно ", " я должен ", " я должна ",
		"我要", "我得", "なければ", "해야",
	}},
	{"goal", []string{
		" i want to ", " i wanna ", " i hope to ", " i'd like to ", " i'd love to ", " i'm hoping ", " my goal ", " my dream ", " i plan ",
		" planning to ", " i'm going to ", " we're going to ", " gonna ", " i'll ", " we'll ", " i'm thinking of ", " i'm looking to ",
		" ich will ", " ich möchte ", " je veux ", " je voudrais ", " quiero ", " я хочу ", "我想", "打算", "したい", "싶",
	}},
	{"preference", []string{
		" i like ", " i love ", " i prefer ", " i enjoy ", " i hate ", " i dislike ", " i can't stand ", " favorite ", " favourite ", " fave ", " fav ",
		" i'm into ", " a fan of ", " i don't like ", " i'd rather ", " allergic ", " i adore ", " we love ", " we like ", " we enjoy ", " passionate about ", " interested in ", " my hobby ", " my hobbies ",
		" ich mag ", " j'aime ", " je préfère ", " me gusta ", " prefiero ", " я люблю ", " мне нравится ",
		"我喜欢", "我爱", "我讨厌", "好きです", "좋아",
	}},
}

// maxMemory is the most tokens of one memory: it is one thing, not a page.
const maxMemory = 80

// draftMemories returns the memories of a span, best first: of each message of a
// person the sentences worth most. There are at most limit, and at most one for two
// messages.
func draftMemories(messages []Message, sentences []*sentence, limit int) []MemoryDraft {
	if limit <= 0 {
		return nil
	}
	rarity, names := rarities(sentences), namesOf(messages)
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
		if m.Role != llm.RoleUser || m.Unremembered {
			continue
		}
		if draft, worth := draft(m, sentences[from:i], rarity, names); worth > 0 {
			drafts = append(drafts, ranked{draft, worth})
		}
	}
	slices.SortStableFunc(drafts, func(a, b ranked) int { return cmp.Compare(b.worth, a.worth) })
	drafts = drafts[:min(len(drafts), limit, (people+1)/2)]
	memories := make([]MemoryDraft, 0, len(drafts))
	for _, d := range drafts {
		memories = append(memories, d.MemoryDraft)
	}
	return memories
}

// draft makes one memory of the sentences of a message that last, of those that tell more
// of them while there is room, and of what came with it; worth is 0 if none lasts.
func draft(m Message, sentences []*sentence, rarity map[string]float64, names map[string]bool) (_ MemoryDraft, worth float64) {
	var lasting, more, traces []*sentence
	for _, s := range sentences {
		if s.trace {
			traces = append(traces, s)
			continue
		}
		s.score = 0
		for _, term := range s.terms {
			s.score += s.weight * rarity[term]
		}
		lasts, beside := s.lasts(names, len(m.Attachments) > 0)
		switch {
		case lasts:
			lasting = append(lasting, s)
		case beside:
			more = append(more, s)
		}
	}
	if len(lasting) == 0 {
		return MemoryDraft{}, 0
	}
	byScore := func(a, b *sentence) int { return cmp.Compare(b.score, a.score) }
	slices.SortStableFunc(lasting, byScore)
	slices.SortStableFunc(more, byScore)
	kind, tokens := "", 0
	var kept []*sentence
	for i, s := range slices.Concat(lasting, more, traces) {
		if tokens += Estimate(s.alone); tokens > maxMemory && len(kept) > 0 {
			break
		}
		kept = append(kept, s)
		if s.trace {
			continue
		}
		worth += s.score
		if k := kindOfMemory(s); i < len(lasting) && importance[k] > importance[kind] {
			kind = k
		}
	}
	slices.SortFunc(kept, func(a, b *sentence) int { return cmp.Compare(a.place, b.place) })
	content := kept[0].speaker + ":"
	for _, s := range kept {
		content += " " + s.alone
	}
	return MemoryDraft{
		Kind: kind, Importance: importance[kind], About: m.Author,
		Content: content, Messages: []int64{m.Seq},
	}, worth * (1 + importance[kind])
}

// kindOfMemory tells what kind of thing a sentence says.
func kindOfMemory(s *sentence) string { return cmp.Or(cueIn(s.alone), s.kind) }

// cueIn is the kind of memory of which a text has a cue, "" if it has none.
func cueIn(text string) string {
	plain := " " + toBlanks.Replace(strings.ToLower(text)) + " "
	for _, c := range cues {
		for _, words := range c.words {
			if strings.Contains(plain, words) {
				return c.kind
			}
		}
	}
	return ""
}

// toBlanks makes a sentence's words stand between blanks.
var toBlanks = strings.NewReplacer(" really ", " ", " also ", " ", " always ", " ", "’", "'", ",", " ", ".", " ", "!", " ", ";", " ", ":", " ")
