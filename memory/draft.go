// Drafts: what somebody wants remembered, checked before it becomes a memory.

package memory

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/compactor"
	"cairn/llm"
	"cairn/words"
)

// The makers of memories.
const (
	byWorker    = "worker"
	byBuiltIn   = "built-in"
	byAssistant = "assistant"
	byPerson    = "person"
)

// Kinds are the kinds of memory.
var Kinds = []string{"identity", "goal", "decision", "todo", "preference", "fact", "event", "observation"}

// importances are the kinds' own, in the order of Kinds.
var importances = []float64{0.9, 0.8, 0.8, 0.7, 0.7, 0.5, 0.5, 0.3}

// maxContent bounds a memory, in characters: it is one fact, not a story.
const maxContent = 1000

// draft is a memory that is not written yet.
type draft struct {
	compactor.MemoryDraft
	supersedes int64 // the memory it takes the place of; 0: none
	by         string
	folded     string   // see words.Fold
	sources    []source // of Messages, in order
	speaker    string   // who said it; from the sources, if there are any
	compaction int64    // the row it is saved with; 0: none
}

// source is a message a memory comes from.
type source struct {
	seq    int64
	author string // empty: nobody has said it
	saidAt int64
}

// saidAt is when the speaker said it: in the first source that is theirs.
func (d draft) saidAt() int64 {
	for _, s := range d.sources {
		if s.author == d.speaker {
			return s.saidAt
		}
	}
	if len(d.sources) > 0 {
		return d.sources[0].saidAt
	}
	return now()
}

// asDraft is what of it concerns a compactor.
func (d draft) asDraft() compactor.MemoryDraft {
	m := d.MemoryDraft
	m.Messages = nil
	for _, s := range d.sources {
		m.Messages = append(m.Messages, s.seq)
	}
	return m
}

// check completes a draft whose messages lie in [from, to], or returns an error
// that says how to mend it. The answer is for the model that made the draft.
func (c *Conversation) check(tx *sql.Tx, d *draft, from, to int64) (answer string, err error) {
	if err := checkContent(d); err != nil {
		return "", err
	}
	if d.sources, err = c.sources(tx, d.Messages, from, to); err != nil {
		return "", err
	}
	for _, s := range d.sources {
		if d.speaker == "" {
			d.speaker = s.author
		}
	}
	if err := c.checkAbout(tx, d, from, to); err != nil {
		return "", err
	}
	if d.supersedes == 0 {
		return "Noted.", nil
	}
	var there bool
	err = tx.QueryRow("SELECT EXISTS (SELECT 1 FROM memories WHERE id = ? AND conversation = ? AND state = 'active')", d.supersedes, c.id).Scan(&there)
	if err != nil {
		return "", err
	}
	if !there {
		answer = fmt.Sprintf("Noted. There is no memory %d, so it supersedes none.", d.supersedes)
		d.supersedes = 0
		return answer, nil
	}
	return fmt.Sprintf("Noted; it supersedes memory %d.", d.supersedes), nil
}

func checkContent(d *draft) error {
	d.Content = compactor.Mask(strings.TrimSpace(strings.ToValidUTF8(d.Content, "\uFFFD")))
	if d.Content == "" {
		return errors.New("content is empty: write the memory as one sentence that stands alone")
	}
	if n := utf8.RuneCountInString(d.Content); n > maxContent {
		return fmt.Errorf("content has %d characters, at most %d can be kept: write one fact in one sentence", n, maxContent)
	}
	i, err := kindIndex(d.Kind)
	if err != nil {
		return err
	}
	if !(d.Importance >= 0 && d.Importance <= 1) { // true for NaN
		return fmt.Errorf("importance is %v: it must be from 0 to 1", d.Importance)
	}
	if d.Importance == 0 {
		d.Importance = importances[i]
	}
	d.folded = words.Fold(d.Content)
	return nil
}

func kindIndex(kind string) (int, error) {
	i := slices.Index(Kinds, kind)
	if i < 0 {
		return i, fmt.Errorf("there is no kind %q: use one of %s", kind, strings.Join(Kinds, ", "))
	}
	return i, nil
}

// sources finds the messages a draft names.
func (c *Conversation) sources(tx *sql.Tx, seqs []int64, from, to int64) ([]source, error) {
	var found []source
	for _, seq := range seqs {
		if seq < from || seq > to {
			return nil, fmt.Errorf("message %d is none of yours: messages has numbers from %d to %d", seq, from, to)
		}
		named, err := c.messages(tx, seq, seq, "")
		if err != nil {
			return nil, err
		}
		if len(named) == 0 {
			return nil, fmt.Errorf("there is no message %d", seq)
		}
		s := source{seq: seq, saidAt: named[0].Time.UnixMilli()}
		if named[0].Role == llm.RoleUser {
			s.author = named[0].Author
		}
		found = union(found, []source{s})
	}
	return found, nil
}

// union joins two lists of sources, each message once, in order.
func union(a, b []source) []source {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y source) int { return cmp.Compare(x.seq, y.seq) })
	return slices.CompactFunc(all, func(x, y source) bool { return x.seq == y.seq })
}

// checkAbout holds a draft to somebody who speaks in [from, to].
func (c *Conversation) checkAbout(tx *sql.Tx, d *draft, from, to int64) error {
	d.About = strings.TrimSpace(d.About)
	if d.About == "" || strings.EqualFold(d.About, d.speaker) {
		d.About = d.speaker
		return nil
	}
	low, high := c.rows(from, to)
	var speakers []string
	err := each(tx, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		speakers = append(speakers, name)
		return err
	}, "SELECT DISTINCT author FROM messages WHERE id BETWEEN ? AND ? AND role = 'user' AND deleted_at IS NULL ORDER BY author", low, high)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(speakers, func(name string) bool { return strings.EqualFold(name, d.About) })
	if i < 0 {
		const most = 20
		return fmt.Errorf("about is %q, who does not speak here: name one of %s, or leave it out",
			d.About, strings.Join(speakers[:min(len(speakers), most)], ", "))
	}
	d.About = speakers[i]
	return nil
}
