// Evidence: whether the messages that a model names as the sources of a memory say anything of it, and whether they are of the
// people whom it is said to be about. It compares words, names and numbers, so it finds sources that are wrong, not those that
// say the opposite. Where nothing can be compared, as between two languages, the model's word counts: a memory that is lost
// cannot be found again, one too many can be forgotten.

package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"cairn/chat"
	"cairn/internal/lazy"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/store"
)

// source is a message, with what it answers.
type source struct {
	chat.Message
	own       string // its words
	text      string // those of what it answers too
	repliesTo string // the author of the statement that it replies to; "": it replies to none, or to a question
}

// checkEvidence drops the sources of a draft that say nothing of it. It returns an error if none is left, if they are of other
// people than those whom the draft names, or if they have other numbers.
func checkEvidence(c *store.Conversation, tx *store.Tx, d *draft) error {
	if d.By == byPerson || d.By == byExtractive || len(d.said) == 0 { // people are believed, and extracts quote
		return nil
	}
	names := store.Values[string](tx, "SELECT DISTINCT name FROM members WHERE conversation = ? ORDER BY name", c.ID())
	claim := claimOf(d.Content, names)
	var kept []source
	for _, m := range d.said {
		s := sourceOf(c, tx, m)
		s.text += "\n" + citing(d.read, m.Seq)
		if claim.isIn(s.text) {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return fmt.Errorf("message %s says nothing of it: name in messages those that say it, in their words, or save nothing", list(d.said))
	}
	d.said = nil
	own, text := "", ""
	for _, s := range kept {
		d.said = append(d.said, s.Message)
		own += s.own + "\n"
		text += s.text + "\n"
	}
	if number := strangeNumber(d.Content, own, text, d.said); number != "" {
		return fmt.Errorf("message %s has other numbers than %s: copy numbers and dates exactly, and name the messages that have them", list(d.said), number)
	}
	return checkPeople(d, kept, names)
}

// checkPeople refuses a draft about people of whom none wrote its sources or is named in them.
func checkPeople(d *draft, kept []source, names []string) error {
	var claimed []string
	for _, name := range names {
		if names := shortNames(name); strings.EqualFold(name, d.About) || slices.ContainsFunc(names, func(n string) bool { return isNamed(n, d.Content) }) {
			claimed = append(claimed, name)
		}
	}
	supported := func(name string) bool {
		return slices.ContainsFunc(kept, func(s source) bool {
			return strings.EqualFold(s.Author, name) || strings.EqualFold(s.repliesTo, name) ||
				slices.ContainsFunc(shortNames(name), func(n string) bool { return isNamed(n, s.text) })
		})
	}
	if len(claimed) > 0 && !slices.ContainsFunc(claimed, supported) {
		return fmt.Errorf("message %s is not of %s and does not name them: save it under the name of who wrote it, or name the messages of %[2]s",
			list(d.said), claimed[0])
	}
	if slices.Contains(claimed, d.About) && !supported(d.About) {
		d.About = ""
	}
	return nil
}

func list(messages []chat.Message) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(seqsOf(messages)), " ", ", "), "[]")
}

// shortNames returns the name, and its first word if that may stand for it.
func shortNames(name string) []string {
	all := []string{name}
	if first, rest, _ := strings.Cut(name, " "); rest != "" && len(first) > 2 {
		all = append(all, first)
	}
	return slices.DeleteFunc(all, common)
}

// isNamed reports whether a text has a name, as a word in scripts with spaces.
func isNamed(name, text string) bool {
	folded := words.Fold(name)
	if folded == "" {
		return false
	}
	text = words.Fold(possessive.Replace(text))
	if strings.ContainsFunc(folded, words.IsUnspaced) {
		return strings.Contains(text, folded)
	}
	apart := strings.FieldsFunc(text, func(r rune) bool { return words.IsUnspaced(r) || !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	of := strings.FieldsFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	return len(of) > 0 && strings.Contains(" "+strings.Join(apart, " ")+" ", " "+strings.Join(of, " ")+" ")
}

// sourceOf returns what a message says: itself, its attachments, and what it answers, which is what it replies to, or the
// question before it by somebody else.
func sourceOf(c *store.Conversation, tx *store.Tx, m chat.Message) source {
	s := source{Message: m, own: ownWords(m)}
	s.text = s.own + "\n" + m.Quote
	if m.ReplySeq != 0 {
		for _, to := range c.In(tx).Messages(m.ReplySeq, m.ReplySeq, "") {
			s.text += "\n" + ownWords(to)
			if !words.IsQuestion(to.Text) {
				s.repliesTo = to.Author
			}
		}
		return s
	}
	const back = 3 // messages before it that may be the question
	before := c.In(tx).Messages(max(m.Seq-back, 1), m.Seq-1, "AND role <> 'tool' ORDER BY id DESC")
	for _, asked := range before {
		if asked.Role == m.Role && cmp.Or(asked.AuthorID, asked.Author) == cmp.Or(m.AuthorID, m.Author) {
			continue
		}
		if words.IsQuestion(asked.Text) || asked.Role == llm.RoleAssistant {
			s.text += "\n" + asked.Text
		}
		break
	}
	return s
}

func ownWords(m chat.Message) string {
	text := m.Text
	for _, a := range m.Attachments {
		text += "\n" + strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(a.Name) + "\n" + a.Caption + "\n" + a.Text
	}
	return text
}

// citing returns the lines of summaries that name a message.
func citing(summaries []string, seq int64) string {
	var lines []string
	for _, text := range summaries {
		for line := range strings.Lines(text) {
			for _, cited := range citation.FindAllStringSubmatch(line, -1) {
				if cited[1] == fmt.Sprint(seq) {
					lines = append(lines, line)
				}
			}
		}
	}
	return strings.Join(lines, "")
}

// claim is what a memory says, as words.
type claim struct {
	content string
	heavy   map[string]bool // one of these in a message suffices
	light   map[string]bool // of these there must be several
}

// claimOf returns the words of a memory, without the names of those who talk here, unless there are no others. Those that any
// message may have are light: what people always talk about, numbers of one digit, and pairs of characters that are no word.
func claimOf(content string, names []string) claim {
	k := claim{content, map[string]bool{}, map[string]bool{}}
	speakers := words.Set(words.Fold(strings.Join(names, " ")))
	for _, w := range words.Cut(content) {
		switch {
		case w.Stop || speakers[w.Folded]:
		case isLight(w):
			k.light[w.Term] = true
		default:
			k.heavy[w.Term] = true
		}
	}
	for _, stem := range words.Stems(content) {
		k.heavy[stem] = true
	}
	if len(k.heavy)+len(k.light) == 0 {
		for _, term := range words.Content(content) {
			k.light[term] = true
		}
	}
	return k
}

func isLight(w words.Word) bool {
	first := []rune(w.Folded)[0]
	switch n := len([]rune(w.Folded)); {
	case unicode.IsNumber(first):
		return n == 1
	case unicode.In(first, unicode.Han, unicode.Katakana):
		return n == 1 || strings.ContainsFunc(w.Folded, isParticle) || lightWords()[w.Folded]
	case words.IsUnspaced(first):
		return true
	case n < 3:
		return first > unicode.MaxLatin1
	}
	return words.IsFrequent(w.Folded) || lightWords()[w.Term]
}

// isIn reports whether a text says anything of the claim; true if it is in another language and they cannot be compared.
func (k claim) isIn(text string) bool {
	shared := 0
	said := map[string]bool{}
	starts := map[string][]string{}
	for _, term := range slices.Concat(words.Content(text), words.Stems(text)) {
		if k.heavy[term] {
			return true
		}
		if k.light[term] && !said[term] {
			shared++
		}
		said[term] = true
		if start := startOf(term); start != "" {
			starts[start] = append(starts[start], term)
		}
	}
	if shared > 0 && shared >= min(max(2, len(k.light)/4), len(k.light)+2*len(k.heavy)) {
		return true
	}
	for term := range k.heavy { // other forms of a word, in languages without stems too
		for _, other := range starts[startOf(term)] {
			if long := max(len(term), len(other)); startOf(term) != "" && 3*samePrefix(term, other) >= 2*long {
				return true
			}
		}
	}
	return words.Differ(k.content, text)
}

// isParticle reports whether a character of Chinese or Japanese is part of the grammar more often than of a word.
func isParticle(r rune) bool {
	return unicode.Is(unicode.Hiragana, r) || strings.ContainsRune("的了是在我你他她它们們不有这這那很就也吗嗎呢吧都和会會要去来來说說好个個没沒人上下", r)
}

// lightWords are words that many messages have, whatever they are about.
var lightWords = lazy.Set(`
able actually add agree already always amazing anyway around ask away awesome back bad believe best better big bit bring call care
change cool day different easy enjoy enough excited family feel find fine first friend fun get give glad go good got great guess guy
happen happy hard hear heard help hope idea important information interesting keep kind know last later learn least let life like
little live long look lot love make many maybe mean meet mention mind moment month morning need never new next nice night old part
people plan please pretty probably put question read ready remember right said save say see seem set share show soon sorry start
stay still story stuff super sure take talk tell thank thing think time today together told tomorrow tonight totally tried try
understand use usually wait want watch way week weekend whole wish wonder work world worry write wrong year yesterday yet
喜欢 喜歡 今天 明天 昨天 可以 知道 觉得 覺得 什么 什麼 谢谢 謝謝 时候 時候 现在 現在 自己 大家 今日 明日 昨日 自分`, func(list string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range words.Cut(list) {
		set[w.Term] = true
	}
	return set
})

// startOf returns the first letters of a word that is long enough to have other forms; else "".
func startOf(term string) string {
	const letters = 4
	runes := []rune(term)
	if len(runes) < letters || strings.Contains(term, ":") || !unicode.IsLetter(runes[0]) {
		return ""
	}
	return string(runes[:letters])
}

func samePrefix(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
