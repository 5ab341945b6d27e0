// Drafts: memories that are checked before they are stored. For one that does not pass, the error says what to send instead.

package memory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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
	"cairn/transcript"
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

// MaxContent is the maximum length of a memory, in characters: it is one fact, not a story.
const MaxContent = 1000

// draft is a memory that is not written yet. What its maker leaves out is zero: Reach is "server", SavedAt now.
type draft struct {
	store.Memory                      // Sources: the messages that its maker names
	supersedes   int64                // the memory it supersedes; 0: none
	folded       string               // see words.Fold
	sources      []chat.Message       // the messages it comes from, in order
	expires      string               // when it expires, as a model wrote it; "": never
	people       []person             // whom it concerns
	note         llm.Result           // for its maker, once it is checked
	read         []transcript.Summary // what its maker read in place of messages
	prompt       string               // what its maker was shown that no message has: its system prompt
}

func draftOf(m summarize.MemoryDraft, by string) draft {
	return draft{Memory: store.Memory{Kind: m.Kind, Content: m.Content, Importance: m.Importance, About: m.About, Sources: m.Messages, By: by}}
}

// sentAt is when it was said first; now, if it comes from no message.
func (d draft) sentAt() time.Time {
	if len(d.sources) > 0 {
		return cmp.Or(d.SaidAt, d.sources[0].Time)
	}
	return cmp.Or(d.SaidAt, time.Now())
}

// checkDraft completes a draft whose messages are in [from, to], or returns an error that says how to fix it.
func checkDraft(c *store.Conversation, tx *store.Tx, d *draft, from, to int64) (err error) {
	if err := checkContent(d); err != nil {
		return &ContentError{err}
	}
	cleanFact(d)
	d.sources, err = sourcesOf(c, tx, d.Sources, from, to)
	if err != nil {
		return err
	}
	if err := checkEvidence(c, tx, d); err != nil {
		return err
	}
	for _, m := range d.sources {
		d.Speaker = cmp.Or(d.Speaker, m.Author)
		if d.SpeakerID == "" && d.Speaker == m.Author {
			d.SpeakerID = m.AuthorID
		}
	}
	named := d.About
	if err := checkAbout(c, tx, d, from, to); err != nil {
		return err
	}
	d.concern(named != "")
	if strings.EqualFold(named, d.About) {
		named = ""
	}
	checkFact(d, named)
	d.Expires, err = endOf(d.expires, d.sentAt(), time.Now())
	return cmp.Or(checkOptOuts(c, tx, *d), err)
}

func checkContent(d *draft) error {
	content := strings.ToValidUTF8(strings.ReplaceAll(d.Content, "\x00", ""), "\uFFFD") // SQL functions read a text up to a NUL
	if d.By != byPerson {
		content = clean.Text(content)
		if without := clean.WithoutNoReply(content, false); without != "" {
			content = without
		}
	}
	d.Content = secrets.Mask(strings.TrimSpace(content))
	if d.Content == "" {
		return errors.New("content is empty: write the memory as one sentence that stands alone")
	}
	if clean.IsResidue(d.Content) {
		return errors.New("content is only tags or marks: write the memory as one sentence that stands alone")
	}
	if n := utf8.RuneCountInString(d.Content); n > MaxContent {
		return fmt.Errorf("content has %d characters, at most %d can be kept: write one fact in one sentence", n, MaxContent)
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
		named := c.Messages(tx).At(seq)
		if len(named) == 0 {
			return nil, fmt.Errorf("there is no message %d", seq)
		}
		if named[0].Role != llm.RoleUser {
			named[0].Author = ""
			named[0].AuthorID = ""
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

// checkAbout finds the person who speaks in [from, to], or spoke before, and whom a draft is about; what a model says of anybody else is
// the speaker's. If several people share a name, only the name is stored.
func checkAbout(c *store.Conversation, tx *store.Tx, d *draft, from, to int64) error {
	about := d.About
	d.About = d.Speaker
	d.AboutID = d.SpeakerID
	if about == "" || strings.EqualFold(about, d.Speaker) {
		return nil
	}
	known := false
	for _, person := range c.People(tx).Speakers(from, to) {
		if strings.EqualFold(person.Name, about) {
			d.About = person.Name
			d.AboutID = person.ID
			known = true
		}
	}
	if !known && d.By == byPerson {
		return &ContentError{fmt.Errorf("about is %q, who does not speak here: leave it out", about)}
	}
	if !known {
		d.aboutMember(c.People(tx).Named(), about)
	}
	return nil
}

// aboutMember makes a draft one about somebody who spoke earlier, if a name is theirs. Of a name that several people have, nobody knows
// whose it is.
func (d *draft) aboutMember(members []store.Person, name string) {
	var ids []string
	for _, member := range members {
		if !strings.EqualFold(member.Name, name) {
			continue
		}
		d.About = member.Name
		d.AboutID = member.ID
		if !slices.Contains(ids, member.ID) {
			ids = append(ids, member.ID)
		}
	}
	if len(ids) > 1 {
		d.AboutID = ""
	}
}
