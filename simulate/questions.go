package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

// Question is a question about a recording.
type Question struct {
	Text     string          `json:"question"`
	Answer   json.RawMessage `json:"answer"`   // a string or a number
	Evidence []string        `json:"evidence"` // ids of the messages that answer it
	Category int             `json:"category"`
}

// NoAnswer is the category of questions that the recording does not answer.
const NoAnswer = 5

// AnswerText returns the answer as text.
func (q Question) AnswerText() string {
	var text string
	if json.Unmarshal(q.Answer, &text) == nil {
		return text
	}
	return string(q.Answer)
}

// Seqs returns the distinct seqs of the evidence. One text may contain several ids; unknown ids are
// skipped.
func (q Question) Seqs(place map[string]int64) (seqs []int64) {
	for _, text := range q.Evidence {
		for id := range strings.FieldsFuncSeq(text, func(sep rune) bool { return strings.ContainsRune(" ;,", sep) }) {
			if seq := place[id]; seq != 0 {
				seqs = append(seqs, seq)
			}
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// Told contains the lines of summaries, as terms.
type Told struct {
	lines  []summaryLine
	rarity Rarity
}

type summaryLine struct {
	author string
	terms  map[string]bool
}

// NewTold returns the lines of summaries. rarity contains the weights of terms.
func NewTold(rarity Rarity, summaries ...string) *Told {
	t := &Told{rarity: rarity}
	for _, text := range summaries {
		for line := range strings.Lines(WithoutCitations(text)) {
			if author, text, found := strings.Cut(line, ": "); found {
				t.lines = append(t.lines, summaryLine{author, SetOf(words.Content(text))})
			}
		}
	}
	return t
}

// WithoutCitations returns a text without the numbers of messages that its lines cite: they are no words of an answer.
func WithoutCitations(text string) string { return transcript.Citations.ReplaceAllString(text, "") }

const (
	leastWords = 3       // minimum number of content words of a sentence
	leastShare = 2. / 3. // minimum share of a sentence's weight in one line
)

// Tells reports whether a line contains a sentence of an author's message.
func (t *Told) Tells(author, text string) bool {
	for _, sentence := range words.Sentences(text) {
		terms := SetOf(words.Content(sentence))
		if len(terms) < leastWords {
			continue
		}
		all := t.rarity.sum(terms, terms)
		if slices.ContainsFunc(t.lines, func(l summaryLine) bool {
			return l.author == author && t.rarity.sum(terms, l.terms) >= leastShare*all
		}) {
			return true
		}
	}
	return false
}

func SetOf(terms []string) map[string]bool {
	set := make(map[string]bool, len(terms))
	for _, term := range terms {
		set[term] = true
	}
	return set
}

// Rarity is the weight of terms: the logarithm of how rare they are among messages.
type Rarity map[string]float64

// sum returns the weight of the terms that are in a set.
func (r Rarity) sum(terms, in map[string]bool) (sum float64) {
	for term := range terms {
		if in[term] {
			sum += r[term]
		}
	}
	return sum
}

// RarityOf returns the weights of the terms of messages.
func RarityOf(bodies []string) Rarity {
	weight := Rarity{}
	for _, body := range bodies {
		for term := range SetOf(words.Content(body)) {
			weight[term]++
		}
	}
	for term, n := range weight {
		weight[term] = math.Log(1 + float64(len(bodies))/n)
	}
	return weight
}

// Found is which part of the answers is available at the end, as shares, 0 to 1.
type Found struct {
	Questions int   `json:"questions"`
	Context   Share `json:"context"` // in the prompt: verbatim or in a summary
	Recall    Share `json:"recall"`  // in the prompt, or among the ten messages that recall finds
}

// Share is the share of words and of messages that were found.
type Share struct {
	Answer   float64 `json:"answer"`   // of the words of the answers
	Evidence float64 `json:"evidence"` // of the messages that answer

	questions, answers int // of the sums so far; answers have words
}

// Ask adds a question to the sums. It needs words and messages; has and there report which are found.
func (s *Share) Ask(need []string, has func(term string) bool, seqs []int64, there func(seq int64) bool) {
	s.questions++
	if len(need) > 0 {
		s.answers++
	}
	s.Answer += shareOf(need, has)
	s.Evidence += shareOf(seqs, there)
}

func shareOf[T any](all []T, found func(T) bool) (share float64) {
	for _, one := range all {
		if found(one) {
			share += 1 / float64(len(all))
		}
	}
	return share
}

// Add adds the sums of another share.
func (s *Share) Add(o Share) {
	*s = Share{s.Answer + o.Answer, s.Evidence + o.Evidence, s.questions + o.questions, s.answers + o.answers}
}

// Mean converts the sums into shares.
func (s *Share) Mean() {
	s.Answer /= float64(max(s.answers, 1))
	s.Evidence /= float64(max(s.questions, 1))
}

// recalled is how many messages recall returns for a question.
const recalled = 10

// searched is what recall finds for each question; it is the same for all variants.
type searched struct {
	questions []expected
	rarity    Rarity
}

// expected is a question, and what recall finds for it.
type expected struct {
	need     []string        // terms of the answer
	seqs     []int64         // of the evidence
	found    map[int64]bool  // messages
	recalled map[string]bool // their terms
}

// search asks the questions in a temporary database.
func search(ctx context.Context, rec Recording, questions []Question) (s *searched, err error) {
	if len(questions) == 0 || len(rec.Messages) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "cairn-simulate")
	if err != nil {
		return nil, fmt.Errorf("make a folder to search in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conversation, err := db.Conversation(ctx, "simulate:questions")
	if err != nil {
		return nil, err
	}
	if err := rec.importInto(ctx, conversation); err != nil {
		return nil, err
	}
	place := map[string]int64{} // seqs, the same in both, by the messages' ids
	var bodies []string
	for _, m := range rec.Messages {
		place[m.ID] = m.Seq
		bodies = append(bodies, m.Body())
	}
	s = &searched{rarity: RarityOf(bodies)}
	for _, q := range questions {
		seqs := q.Seqs(place)
		if q.Category == NoAnswer || len(seqs) == 0 {
			continue
		}
		hits, err := memory.Of(conversation).Recall(ctx, memory.Question{Text: q.Text, Limit: recalled, Now: rec.Messages[len(rec.Messages)-1].Time.AddDate(0, 0, 1)})
		if err != nil {
			return nil, err
		}
		found := map[int64]bool{}
		terms := []string{}
		for _, m := range hits {
			found[m.Seq] = true
			terms = append(terms, words.Content(m.Author+" "+m.Time.Format("2006-01-02")+" "+m.Body())...)
		}
		s.questions = append(s.questions, expected{words.Content(q.AnswerText()), seqs, found, SetOf(terms)})
	}
	return s, nil
}

// importInto imports the recording in one transaction, because nobody else uses the database.
func (r *Recording) importInto(ctx context.Context, c *store.Conversation) error {
	var past []store.Inbound
	for _, m := range r.Messages {
		author := authorOf(m.Message)
		past = append(past, store.Inbound{
			ID: fmt.Sprint(m.Seq), AuthorID: author, Author: author, Text: m.Text, Attachments: m.Attachments, Time: m.Time,
		})
	}
	_, err := c.Past().Import(ctx, past)
	return err
}

// ask determines which part of the answers is in the prompt at the end, and what recall adds.
func (p *player) ask(ctx context.Context, s *searched) (*Found, error) {
	prompt, err := p.engine.Request(ctx)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, m := range prompt.Messages {
		text.WriteString(WithoutCitations(m.Text) + "\n")
	}
	visible := SetOf(words.Content(text.String()))
	var summaries []string
	head, _, err := p.records.Head(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range head.Stack {
		summaries = append(summaries, row.Text)
	}
	told := NewTold(s.rarity, summaries...)
	verbatim := p.engine.View().Shows
	there := func(seq int64) bool {
		if verbatim(seq) {
			return true
		}
		messages := p.rec.between(seq, seq)
		return len(messages) == 1 && told.Tells(authorOf(messages[0].Message), messages[0].Text)
	}
	f := &Found{Questions: len(s.questions)}
	for _, q := range s.questions {
		f.Context.Ask(q.need, func(term string) bool { return visible[term] }, q.seqs, there)
		f.Recall.Ask(q.need, func(term string) bool { return visible[term] || q.recalled[term] }, q.seqs, func(seq int64) bool { return q.found[seq] || there(seq) })
	}
	f.Context.Mean()
	f.Recall.Mean()
	return f, nil
}

func authorOf(m chat.Message) string {
	if m.Role == llm.RoleAssistant {
		return "bot"
	}
	return m.Author
}
