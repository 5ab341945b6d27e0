// Drafts: memories that are checked before they are stored.

package memory

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/llm"
	"cairn/store"
	"cairn/words"
)

// The makers of memories.
const (
	byWorker     = "worker"
	byExtractive = "extractive"
	byAssistant  = "assistant"
	byPerson     = "person"
)

// Kinds are the kinds of memory, by name.
var Kinds = func() (names []string) {
	for _, k := range summarize.MemoryKinds {
		names = append(names, k.Name)
	}
	return names
}()

// maxContent is the maximum length of a memory, in characters: it is one fact, not a story.
const maxContent = 1000

// draft is a memory that is not written yet.
type draft struct {
	summarize.MemoryDraft
	supersedes int64 // the memory it supersedes; 0: none
	by         string
	folded     string   // see words.Fold
	sources    []source // of Messages, in order
	speaker    string   // who said it; from the sources, if there are any
	speakerID  string   // the platform's; empty: not known
	aboutID    string   // of the person it is about
	until      string   // when it ends, as a model wrote it; "": never
	expires    int64    // the same, in milliseconds; 0: never
	private    bool     // it is not shared with other conversations
	people     []person // whom it concerns
	compaction int64    // the row it is saved with; 0: none
}

// source is a message a memory comes from.
type source struct {
	seq    int64
	author string // empty: unknown
	id     string // of the author
	saidAt int64
}

// saidAt is when it was said first; now, if it comes from no message.
func (d draft) saidAt() int64 {
	if len(d.sources) == 0 {
		return store.Now()
	}
	return d.sources[0].saidAt
}

// checkDraft completes a draft whose messages are in [from, to], or returns an error that says how to
// fix it.
func checkDraft(c *store.Conversation, tx *store.Tx, d *draft, from, to int64) (err error) {
	if err := checkContent(d); err != nil {
		return &ContentError{err}
	}
	if d.sources, err = sourcesOf(c, tx, d.Messages, from, to); err != nil {
		return err
	}
	for _, s := range d.sources {
		if d.speaker == "" {
			d.speaker = s.author
		}
		if d.speakerID == "" && d.speaker == s.author {
			d.speakerID = s.id
		}
	}
	named := d.About != ""
	if err := checkAbout(c, tx, d, from, to); err != nil {
		return err
	}
	d.concern(named)
	if err := checkOptOuts(c, tx, *d); err != nil {
		return err
	}
	d.expires, err = endOf(d.until, store.At(d.saidAt()), time.Now())
	return err
}

func checkContent(d *draft) error {
	d.Content = secrets.Mask(strings.TrimSpace(strings.ToValidUTF8(d.Content, "\uFFFD")))
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
		d.Importance = summarize.MemoryKinds[i].Importance
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

// sourcesOf finds the messages that a draft names. Those out of range do not count, but at least one
// must be in range.
func sourcesOf(c *store.Conversation, tx *store.Tx, seqs []int64, from, to int64) (found []source, err error) {
	for _, seq := range seqs {
		if seq < from || seq > to {
			continue
		}
		named := c.In(tx).Messages(seq, seq, "")
		if len(named) == 0 {
			return nil, fmt.Errorf("there is no message %d", seq)
		}
		s := source{seq: seq, saidAt: named[0].Time.UnixMilli()}
		if named[0].Role == llm.RoleUser {
			s.author, s.id = named[0].Author, named[0].AuthorID
		}
		found = append(found, s)
	}
	if len(seqs) > 0 && len(found) == 0 {
		return nil, fmt.Errorf("message %d is none of yours: messages has numbers from %d to %d", seqs[0], from, to)
	}
	return inOrder(found), nil
}

// inOrder sorts sources, each message once.
func inOrder(all []source) []source {
	slices.SortFunc(all, func(x, y source) int { return cmp.Compare(x.seq, y.seq) })
	return slices.CompactFunc(all, func(x, y source) bool { return x.seq == y.seq })
}

// checkAbout finds the person who speaks in [from, to] and whom a draft is about. What a model says of
// anybody else is the speaker's. If several people share a name, only the name is stored.
func checkAbout(c *store.Conversation, tx *store.Tx, d *draft, from, to int64) error {
	about := d.About
	d.About, d.aboutID = d.speaker, d.speakerID
	if about == "" || strings.EqualFold(about, d.speaker) {
		return nil
	}
	low, high := c.RowRange(from, to)
	known := false
	err := store.Each(tx, func(rows *sql.Rows) error {
		var name, id string
		err := rows.Scan(&name, &id)
		if strings.EqualFold(name, about) {
			d.About, d.aboutID, known = name, id, true
		}
		return err
	}, `SELECT author, iif(min(author_id) = max(author_id), min(author_id), '') FROM messages
		WHERE id BETWEEN ? AND ? AND role = 'user' AND deleted_at IS NULL GROUP BY author ORDER BY author DESC`, low, high)
	if err == nil && !known && d.by == byPerson {
		return &ContentError{fmt.Errorf("about is %q, who does not speak here: leave it out", about)}
	}
	return err
}
