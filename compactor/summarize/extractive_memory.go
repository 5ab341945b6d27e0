// The memories of the extractive summarizer: what people say about themselves, decide, plan or
// prefer, in their own words.

package summarize

import (
	"cmp"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
)

// cues are words that indicate a sentence's kind of memory, in the order in which they are tried,
// in lower case and between spaces.
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
		" i'm into ", " a fan of ", " i don't like ", " i'd rather ", " allergic ", " i adore ",
		" we love ", " we like ", " we enjoy ", " passionate about ", " interested in ", " my hobby ", " my hobbies ",
		" ich mag ", " j'aime ", " je préfère ", " me gusta ", " prefiero ", " я люблю ", " мне нравится ",
		"我喜欢", "我爱", "我讨厌", "好きです", "좋아",
	}},
}

const (
	maxMemory = 80 // max tokens of one memory: it is one thing, not a page
	maxApart  = 4  // max messages from a memory's first message to its last

	// minBeside is the minimum of lasting for a sentence that is kept next to a lasting one.
	minBeside = -2.5
)

// note is a draft of a memory: sentences of one person from one message or from several close ones.
type note struct {
	MemoryDraft
	place     int         // index of its first message
	sentences []*sentence // in order
	tokens    int
	value     float64
}

// Memories returns the memories in messages, like Extract, without a summary.
func Memories(messages []chat.Message, limit int) []MemoryDraft {
	return draftMemories(messages, sentencesOf(messages, ""), limit)
}

// draftMemories returns the memories of a span, best first: for each message of a person its most
// valuable sentences, together with nearby messages of the same person on that day, because people
// spread one thing over several messages. There are at most limit, and at most one for two messages
// of people.
func draftMemories(messages []chat.Message, sentences []*sentence, limit int) []MemoryDraft {
	if limit <= 0 {
		return nil
	}
	rarity := rarities(sentences)
	names := namesOf(messages)
	people := 0
	for _, m := range messages {
		if m.Role == llm.RoleUser {
			people++
		}
	}
	var notes []*note
	newest := map[[3]string]*note{} // by day and person
	for i := 0; i < len(sentences); {
		from := i
		for i < len(sentences) && sentences[i].message == sentences[from].message {
			i++
		}
		m := messages[sentences[from].message]
		if m.Role != llm.RoleUser || m.Unremembered {
			continue
		}
		n := noteOf(m, sentences[from:i], rarity, names)
		if n == nil {
			continue
		}
		key := [3]string{sentences[from].day, m.AuthorID, m.Author}
		if last := newest[key]; last != nil && n.place-last.place <= maxApart && last.tokens+n.tokens <= maxMemory {
			last.add(n)
			continue
		}
		notes = append(notes, n)
		newest[key] = n
	}
	slices.SortStableFunc(notes, func(a, b *note) int { return cmp.Compare(b.value, a.value) })
	notes = notes[:min(len(notes), limit, (people+1)/2)]
	memories := make([]MemoryDraft, 0, len(notes))
	for _, n := range notes {
		memories = append(memories, n.draft())
	}
	return memories
}

// noteOf returns a note with the lasting sentences of a message, then related ones and attachments
// while there is room; nil if no sentence is lasting.
func noteOf(m chat.Message, sentences []*sentence, rarity map[string]float64, names map[string]bool) *note {
	var lasting, traces []*sentence
	for _, s := range sentences {
		if s.trace {
			traces = append(traces, s)
			continue
		}
		s.score = s.lasting(names)
		if s.score > 0 || s.score > minBeside && !s.idle {
			lasting = append(lasting, s)
		}
	}
	slices.SortStableFunc(lasting, func(a, b *sentence) int { return cmp.Compare(b.score, a.score) })
	if len(lasting) == 0 || lasting[0].score <= 0 {
		return nil
	}
	n := &note{place: lasting[0].message, MemoryDraft: MemoryDraft{About: m.Author, Messages: []int64{m.Seq}}}
	for _, s := range append(lasting, traces...) {
		tokens := tokens.Estimate(s.alone)
		if n.tokens+tokens > maxMemory && n.tokens > 0 {
			break
		}
		n.tokens += tokens
		n.sentences = append(n.sentences, s)
		if s.trace {
			continue
		}
		for _, term := range s.terms {
			n.value += s.weight * rarity[term]
		}
		if k := cmp.Or(cueIn(s.alone), s.kind); s.score > 0 && importance[k] > n.Importance {
			n.Kind = k
			n.Importance = importance[k]
		}
	}
	slices.SortFunc(n.sentences, func(a, b *sentence) int { return cmp.Compare(a.place, b.place) })
	n.value *= 1 + n.Importance
	return n
}

func (n *note) add(later *note) {
	n.Messages = append(n.Messages, later.Messages...)
	n.sentences = append(n.sentences, later.sentences...)
	n.tokens += later.tokens
	n.value += later.value
	if later.Importance > n.Importance {
		n.Kind = later.Kind
		n.Importance = later.Importance
	}
}

func (n *note) draft() MemoryDraft {
	n.Content = n.sentences[0].speaker + ":"
	for _, s := range n.sentences {
		if !words.EndsInMark(n.Content) {
			n.Content += "."
		}
		n.Content += " " + s.alone
	}
	return n.MemoryDraft
}

// cueIn returns the kind of memory for which a text has a cue; "" if none.
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

// toBlanks leaves single spaces around a sentence's words.
var toBlanks = strings.NewReplacer(" really ", " ", " also ", " ", " always ", " ", "’", "'", ",", " ", ".", " ", "!", " ", ";", " ", ":", " ")
