// Search by meaning: how near the vectors of messages are to that of a question, added to the score of the words.

package search

import (
	"math"
	"slices"

	"cairn/internal/words"
)

// Meaning is how near documents are to a question in meaning. nil: nothing is known of it, and words decide alone.
type Meaning struct {
	documents []int64 // ascending
	near      []float64
	mean      float64
	deviation float64
}

// The weights of meaning. Nearness is standardized before it is added, so the weights fit models with any range of cosines. They were
// measured, see bench recall: fusing ranks in place of scores loses 5 to 15 points of recall.
const (
	byMeaning   = 0.2  // for a standard deviation; the best score by words is 1
	nearBefore  = 0.4  // of the nearness of the message before
	nearAfter   = 0.2  // of that of the one after
	nearSpeaker = 0.75 // standard deviations for the person the question is about
	nearAsks    = 0.35 // subtracted from a question
	nearLonger  = 0.75 // for more words, by their logarithm
)

// nearest is how many documents are candidates because of their meaning alone.
const nearest = 100

// NewMeaning returns the meaning of documents, in ascending order, by the cosines of their vectors with that of the question. neighbours:
// consecutive numbers are messages one after the other, which explain each other.
func NewMeaning(documents []int64, cosines []float64, neighbours bool) *Meaning {
	m := &Meaning{documents: documents, near: cosines}
	if neighbours {
		m.spread()
	}
	n := float64(len(m.near))
	for _, x := range m.near {
		m.mean += x / n
	}
	for _, x := range m.near {
		m.deviation += (x - m.mean) * (x - m.mean) / n
	}
	m.deviation = math.Sqrt(m.deviation)
	if m.deviation < 1e-9 { // also of fewer than two
		return nil
	}
	return m
}

// spread adds to the nearness of each message that of its neighbours. Where one has no vector, the message itself stands for it.
func (m *Meaning) spread() {
	spread := make([]float64, len(m.near))
	for i, own := range m.near {
		before := own
		after := own
		if i > 0 && m.documents[i-1] == m.documents[i]-1 {
			before = m.near[i-1]
		}
		if i+1 < len(m.near) && m.documents[i+1] == m.documents[i]+1 {
			after = m.near[i+1]
		}
		spread[i] = own + nearBefore*before + nearAfter*after
	}
	m.near = spread
}

// of returns how near a document is, in standard deviations, with extra; 0: no nearer than most, or not known.
func (m *Meaning) of(document int64, extra float64) float64 {
	i, known := slices.BinarySearch(m.documents, document)
	if !known {
		return 0
	}
	return max((m.near[i]-m.mean)/m.deviation+extra, 0)
}

// candidates returns the nearest documents between from and to, at most limit.
func (m *Meaning) candidates(from, to int64, limit int) (found []int64) {
	var all []scored
	for i, document := range m.documents {
		if document >= from && document <= to && m.near[i] > m.mean {
			all = append(all, scored{document, m.near[i]})
		}
	}
	for _, s := range best(all, limit) {
		found = append(found, s.document)
	}
	return found
}

// HasMeaning reports whether the question means more than a word: one word asks for that word.
func (q *Query) HasMeaning() bool { return len(q.words) > 1 }

// Resembles sets how near documents are to the question.
func (q *Query) Resembles(m *Meaning) { q.meaning = m }

// withNearest adds to the candidates those that are nearest in meaning.
func (q *Query) withNearest(seqs []int64, from, to int64) []int64 {
	if q.meaning == nil {
		return seqs
	}
	seqs = append(seqs, q.meaning.candidates(from, to, nearest)...)
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// fuse adds the meaning to the scores of the words, as parts of the best of these.
func (q *Query) fuse(hits []Hit) {
	if q.meaning == nil {
		return
	}
	top := 0.0
	extra := make([]float64, len(hits))
	usual := 0.0 // extra, which the mean of all documents does not have
	for i, h := range hits {
		top = max(top, h.Total)
		extra[i] = q.extra(h)
		usual += extra[i] / float64(len(hits))
	}
	for i := range hits {
		h := &hits[i]
		h.divide(top)
		h.Add("meaning", byMeaning*q.meaning.of(h.Seq, extra[i]-usual))
	}
}

// extra returns what is added to the nearness of a message because of what it is.
func (q *Query) extra(h Hit) (extra float64) {
	extra = nearLonger * math.Log(float64(max(h.Length, 1)))
	if q.IsAbout(h.Author) {
		extra += nearSpeaker
	}
	if words.EndsInQuestion(h.Text) {
		extra -= nearAsks
	}
	return extra
}

// divide divides the score and its parts; 0 leaves them alone.
func (s *Score) divide(by float64) {
	if by == 0 {
		return
	}
	s.Total /= by
	for i := range s.Parts {
		s.Parts[i].Value /= by
	}
}

// WithMeaning returns the scores of documents by words as parts of the best of them, with their meaning, and the nearest documents that no word
// finds.
func (q *Query) WithMeaning(scores map[int64]float64) (byWords, meaning map[int64]float64) {
	if q.meaning == nil {
		return scores, nil
	}
	top := 0.0
	for _, score := range scores {
		top = max(top, score)
	}
	byWords = make(map[int64]float64)
	meaning = make(map[int64]float64)
	for _, document := range q.meaning.candidates(0, math.MaxInt64, nearest/5) {
		byWords[document] = 0
	}
	for document, score := range scores {
		byWords[document] = score / top
	}
	for document := range byWords {
		meaning[document] = byMeaning * q.meaning.of(document, 0)
	}
	return byWords, meaning
}
