// Drafts: memories that are checked before they are stored, and the arguments of memory_save. Small models do not follow the
// schema, and a memory is worth more than its form, so the forms that they often use are accepted; for anything else the error
// says what to send instead.

package memory

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/llm/clean"
	"cairn/store"
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

// draft is a memory that is not written yet. What its maker leaves out is zero: Reach is "server", SavedAt now.
type draft struct {
	Memory                    // Sources: the messages that its maker names
	supersedes int64          // the memory it supersedes; 0: none
	folded     string         // see words.Fold
	said       []chat.Message // the messages it comes from, in order
	until      string         // when it ends, as a model wrote it; "": never
	people     []person       // whom it concerns
	note       string         // for its maker, once it is checked
}

func draftOf(m summarize.MemoryDraft, by string) draft {
	return draft{Memory: Memory{Kind: m.Kind, Content: m.Content, Importance: m.Importance, About: m.About, Sources: m.Messages, By: by}}
}

// saidAt is when it was said first; now, if it comes from no message.
func (d draft) saidAt() time.Time {
	if len(d.said) > 0 {
		return cmp.Or(d.SaidAt, d.said[0].Time)
	}
	return cmp.Or(d.SaidAt, time.Now())
}

// checkDraft completes a draft whose messages are in [from, to], or returns an error that says how to fix it.
func checkDraft(c *store.Conversation, tx *store.Tx, d *draft, from, to int64) (err error) {
	if err := checkContent(d); err != nil {
		return &ContentError{err}
	}
	if d.said, err = sourcesOf(c, tx, d.Sources, from, to); err != nil {
		return err
	}
	for _, m := range d.said {
		d.Speaker = cmp.Or(d.Speaker, m.Author)
		if d.SpeakerID == "" && d.Speaker == m.Author {
			d.SpeakerID = m.AuthorID
		}
	}
	named := d.About != ""
	if err := checkAbout(c, tx, d, from, to); err != nil {
		return err
	}
	d.concern(named)
	d.Expires, err = endOf(d.until, d.saidAt(), time.Now())
	return cmp.Or(checkOptOuts(c, tx, *d), err)
}

func checkContent(d *draft) error {
	content := strings.ToValidUTF8(strings.ReplaceAll(d.Content, "\x00", ""), "\uFFFD") // SQL functions read a text up to a NUL
	if d.By != byPerson {
		content = clean.Text(content)
	}
	d.Content = secrets.Mask(strings.TrimSpace(content))
	if d.Content == "" {
		return errors.New("content is empty: write the memory as one sentence that stands alone")
	}
	if clean.IsResidue(d.Content) {
		return errors.New("content is only tags or marks: write the memory as one sentence that stands alone")
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

// sourcesOf finds the messages that a draft names. Those out of range do not count, but at least one must be in range.
func sourcesOf(c *store.Conversation, tx *store.Tx, seqs []int64, from, to int64) (found []chat.Message, err error) {
	for _, seq := range seqs {
		if seq < from || seq > to {
			continue
		}
		named := c.In(tx).Messages(seq, seq, "")
		if len(named) == 0 {
			return nil, fmt.Errorf("there is no message %d", seq)
		}
		if named[0].Role != llm.RoleUser {
			named[0].Author, named[0].AuthorID = "", ""
		}
		found = append(found, named...)
	}
	if len(seqs) > 0 && len(found) == 0 {
		return nil, fmt.Errorf("message %d is none of yours: messages has numbers from %d to %d", seqs[0], from, to)
	}
	return inOrder(found), nil
}

func inOrder(all []chat.Message) []chat.Message {
	slices.SortFunc(all, func(x, y chat.Message) int { return cmp.Compare(x.Seq, y.Seq) })
	return slices.CompactFunc(all, func(x, y chat.Message) bool { return x.Seq == y.Seq })
}

func seqsOf(messages []chat.Message) (seqs []int64) {
	for _, m := range messages {
		seqs = append(seqs, m.Seq)
	}
	return seqs
}

// checkAbout finds the person who speaks in [from, to] and whom a draft is about; what a model says of anybody else is the
// speaker's. If several people share a name, only the name is stored.
func checkAbout(c *store.Conversation, tx *store.Tx, d *draft, from, to int64) error {
	about := d.About
	d.About, d.AboutID = d.Speaker, d.SpeakerID
	if about == "" || strings.EqualFold(about, d.Speaker) {
		return nil
	}
	low, high := c.RowRange(from, to)
	known := false
	store.Each(tx, func(rows *sql.Rows) error {
		var name, id string
		err := rows.Scan(&name, &id)
		if strings.EqualFold(name, about) {
			d.About, d.AboutID, known = name, id, true
		}
		return err
	}, `SELECT author, iif(min(author_id) = max(author_id), min(author_id), '') FROM messages
		WHERE id BETWEEN ? AND ? AND role = 'user' AND deleted_at IS NULL GROUP BY author ORDER BY author DESC`, low, high)
	if !known && d.By == byPerson {
		return &ContentError{fmt.Errorf("about is %q, who does not speak here: leave it out", about)}
	}
	return nil
}

// loose is a text that a model may write as a number; null is "".
type loose string

func (l *loose) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var number json.Number
		if err := json.Unmarshal(raw, &number); err != nil {
			return err
		}
		text = number.String()
	}
	*l = loose(strings.TrimSpace(text))
	return nil
}

// looseList is a list whose only element may stand without the list.
type looseList []loose

func (l *looseList) UnmarshalJSON(raw []byte) error {
	var list []loose
	if json.Unmarshal(raw, &list) == nil {
		*l = list
		return nil
	}
	*l = make(looseList, 1)
	return (*l)[0].UnmarshalJSON(raw)
}

func readDraft(arguments json.RawMessage) (d draft, err error) {
	var a struct {
		Content, Kind, Importance, About, Supersedes, Expires loose
		Messages                                              looseList
	}
	if err := json.Unmarshal(arguments, &a); err != nil {
		return d, errors.New(`the arguments cannot be read: send one object, {"content": "…", "kind": "fact", "messages": [3]}`)
	}
	d.By, d.Content, d.Kind, d.until = byWorker, string(a.Content), strings.ToLower(string(a.Kind)), string(a.Expires)
	if d.Kind == "person" {
		d.Kind = "identity"
	}
	d.About = strings.TrimPrefix(string(a.About), "@")
	for _, written := range a.Messages {
		seq, err := strconv.ParseFloat(strings.TrimPrefix(string(written), "#"), 64)
		if err != nil || seq != float64(int64(seq)) {
			return d, fmt.Errorf("messages holds %q: send a list of integers, [3, 4]", written)
		}
		d.Sources = append(d.Sources, int64(seq))
	}
	if d.Importance, err = importanceOf(string(a.Importance)); err != nil {
		return d, err
	}
	if a.Supersedes != "" && a.Supersedes != "none" {
		if d.supersedes, err = strconv.ParseInt(strings.TrimPrefix(string(a.Supersedes), "#"), 10, 64); err != nil {
			return d, fmt.Errorf("supersedes is %q: send the id of a memory as an integer, or leave it out", a.Supersedes)
		}
	}
	return d, nil
}

var importanceWords = map[string]float64{"": 0, "low": 0.3, "medium": 0.5, "high": 0.8}

// importanceOf reads 0.8, 8 (of ten) and "high". 0 means the default of the kind.
func importanceOf(written string) (float64, error) {
	if worth, found := importanceWords[strings.ToLower(written)]; found {
		return worth, nil
	}
	n, err := strconv.ParseFloat(written, 64)
	if err != nil {
		return 0, fmt.Errorf("importance is %q: send a number from 0 to 1, or leave it out", written)
	}
	if n >= 2 { // from 1 to 2 it may be out of one, two or ten
		n /= 10
	}
	return n, nil
}
