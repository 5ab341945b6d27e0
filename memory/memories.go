// Memories: facts kept beyond the conversation, with the messages they came from.

package memory

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"cairn/chat"
	"cairn/store"
)

// Memory is one fact, preference, decision, … worth keeping beyond the conversation.
type Memory struct {
	ID           int64     `json:"id"`
	Conversation string    `json:"channel"`
	Kind         string    `json:"kind"`
	Content      string    `json:"content"`
	Importance   float64   `json:"importance"`           // 0 to 1
	Pinned       bool      `json:"pinned"`               // it neither expires nor fades
	Speaker      string    `json:"speaker"`              // who said it
	SpeakerID    string    `json:"speaker_id,omitempty"` // the platform's; empty: not known
	About        string    `json:"about"`
	AboutID      string    `json:"about_id,omitempty"`
	Reach        string    `json:"reach"`                // channel: it stays in its conversation; server: it may be shared, see Memories.Share
	By           string    `json:"by"`                   // worker, extractive, assistant, person
	Compaction   int64     `json:"compaction,omitempty"` // the row it was saved with
	SaidAt       time.Time `json:"said_at"`
	SavedAt      time.Time `json:"saved_at"`
	Expires      time.Time `json:"expires_at,omitzero"` // from then on it is not recalled; zero: it never expires
	Confirmed    int       `json:"confirmed"`           // how often it was said, including the first time
	Sources      []int64   `json:"sources"`             // seqs, in Conversation, of the messages it came from
	State        string    `json:"state"`               // active, expired, superseded, forgotten, replaced
	SupersededBy int64     `json:"superseded_by,omitempty"`
	Score        float64   `json:"score,omitempty"` // of a search: how well it matches
	Parts        []Part    `json:"parts,omitempty"` // what the score is the sum of
}

// String returns the memory in one line for people. The number is in parentheses: Markdown would renumber "7.".
func (m Memory) String() string { return m.Words(m.Kind, chat.DateFormat, fmt.Sprintf) }

// Words is String with the name of its kind, the layout of dates, and what else is said of it, in another language.
func (m Memory) Words(kind, dates string, say func(format string, args ...any) string) string {
	var notes []string
	if m.Speaker != "" {
		notes = append(notes, chat.OneLine(m.Speaker))
	}
	if m.About != "" && m.About != m.Speaker {
		notes = append(notes, say("about %s", chat.OneLine(m.About)))
	}
	notes = append(notes, m.SaidAt.Local().Format(dates))
	if m.Pinned {
		notes = append(notes, say("pinned"))
	}
	switch {
	case m.State == "expired":
		notes = append(notes, say("expired on %s", m.Expires.Local().Format(dates)))
	case m.State == "superseded" && m.SupersededBy != 0:
		notes = append(notes, say("superseded by %d", m.SupersededBy))
	case m.State != "active":
		notes = append(notes, say(m.State))
	case !m.Expires.IsZero() && !m.Pinned:
		notes = append(notes, say("until %s", m.Expires.Local().Format(dates+" 15:04 MST")))
	}
	return fmt.Sprintf("(%d) %s: %s (%s)", m.ID, kind, chat.OneLine(m.Content), strings.Join(notes, ", "))
}

// Saved is the outcome of saving a memory.
type Saved struct {
	Memory
	Fresh      bool  // it is new
	Unwanted   bool  // people had it forgotten, and it comes from the same messages: nothing was saved
	Superseded int64 // the memory it superseded; 0: none
}

// saveDraft writes a draft that has passed the checks. The same fact is one row, however often someone says it: the row gains
// the sources it did not have, and is confirmed if there were any. Of the memory it returns only the ID.
func saveDraft(c *store.Conversation, tx *store.Tx, d draft) Saved {
	s := sameAs(c, tx, d)
	switch {
	case s.Unwanted:
		return s
	case s.Fresh:
		s.ID = insertMemory(c, tx, d)
	default:
		confirmMemory(c, tx, s.ID, d)
	}
	addPeople(tx, s.ID, d, s.Fresh)
	if d.supersedes != 0 && d.supersedes != s.ID {
		s.Superseded = store.Get[int64](tx, `UPDATE memories SET state = 'superseded', superseded_by = ? WHERE id = ? AND conversation = ?
			AND state = 'active' AND NOT pinned RETURNING id`, s.ID, d.supersedes, c.ID()) // 0: forgotten or pinned in the meantime
	}
	return s
}

// sameAs determines whether a memory already says what the draft says, and returns its ID. One that the draft supersedes does
// not count.
func sameAs(c *store.Conversation, tx *store.Tx, d draft) (s Saved) {
	s.ID = store.Get[int64](tx, "SELECT id FROM memories WHERE conversation = ? AND folded = ? AND state = 'active'", c.ID(), d.folded)
	if s.ID != 0 {
		return s
	}
	forgotten := int64(0)
	for _, m := range sayingTheSame(c, tx, d) {
		switch {
		case m.ID == d.supersedes:
		case m.State != "forgotten":
			s.ID = m.ID
			return s
		case forgotten == 0:
			forgotten = m.ID
		}
	}
	if forgotten != 0 && len(d.said) > 0 {
		known := store.Get[int](tx, `SELECT count(*) FROM memory_sources
			WHERE memory = ? AND message IN (SELECT value FROM json_each(?))`, forgotten, rowsOf(c, d.said))
		s.ID = forgotten
		s.Unwanted = known == len(d.said)
	}
	s.Fresh = !s.Unwanted
	return s
}

func insertMemory(c *store.Conversation, tx *store.Tx, d draft) (id int64) {
	was := "" // the state before it was forgotten
	if d.State == "forgotten" {
		was = "active"
		if d.SupersededBy != 0 {
			was = "superseded"
		}
	}
	id = store.Get[int64](tx, `INSERT INTO memories (conversation, kind, content, folded, importance, pinned, speaker, about, reach, made_by,
		compaction, said_at, saved_at, expires_at, confirmed, state, forgotten_from)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 0), ?, ?, nullif(?, 0), ?, ?, ?) RETURNING id`,
		c.ID(), d.Kind, d.Content, d.folded, d.Importance, d.Pinned, d.Speaker, d.About, cmp.Or(d.Reach, "server"), d.By,
		d.Compaction, d.saidAt().UnixMilli(), cmp.Or(d.SavedAt, time.Now()).UnixMilli(), millis(d.Expires),
		max(d.Confirmed, 1), cmp.Or(d.State, "active"), was)
	addSources(c, tx, id, d.said)
	store.IndexMemory(tx, id, d.Content, d.About)
	return id
}

// confirmMemory notes that someone said a known fact again. Reading the same messages again does not confirm it; a person who
// says it without any messages does. If the memory's speaker repeats it with another end, or a person asks for one, it
// expires then; if it is repeated after its end without an end, it no longer expires.
func confirmMemory(c *store.Conversation, tx *store.Tx, id int64, d draft) {
	added := addSources(c, tx, id, d.said)
	m := readMemory(tx, id)
	if added == 0 && len(d.said) > 0 {
		return
	}
	if m.State != "expired" && (d.Expires.IsZero() || m.SpeakerID != d.SpeakerID && d.By != byPerson) { // no one else's words can end what a person said
		d.Expires = m.Expires
	}
	tx.Do("UPDATE memories SET confirmed = confirmed + 1, expires_at = nullif(?, 0), reach = iif(?, 'server', reach) WHERE id = ?",
		millis(d.Expires), d.By == byPerson && d.Reach != "channel", id) // a person who says it for the server means it
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// addSources notes the messages a memory comes from, and returns how many are new.
func addSources(c *store.Conversation, tx *store.Tx, id int64, messages []chat.Message) (added int64) {
	tx.Do(`INSERT INTO memory_sources (memory, message) SELECT ?, value FROM json_each(?)
		WHERE true ON CONFLICT DO NOTHING`, id, rowsOf(c, messages))
	return store.Get[int64](tx, "SELECT changes()")
}

func rowsOf(c *store.Conversation, messages []chat.Message) string {
	var rows []int64
	for _, m := range messages {
		rows = append(rows, c.Row(m.Seq))
	}
	return jsonList(rows)
}

const memoryColumns = `m.id, (SELECT name FROM conversations WHERE id = m.conversation), m.kind, m.content, m.importance,
	m.pinned, m.speaker, ` + speakerOf + `, m.about, ` + aboutOf + `, m.reach, m.made_by, coalesce(m.compaction, 0),
	m.said_at, m.saved_at, m.expires_at, m.confirmed, m.state, coalesce(m.superseded_by, 0),
	(SELECT json_group_array(message & 4294967295) FROM memory_sources WHERE memory = m.id)`

// ReadMemories reads the memories that the rest of the query selects.
func ReadMemories(tx *store.Tx, rest string, args ...any) []Memory {
	return store.List(tx, func(rows *sql.Rows, m *Memory) error {
		var saidAt int64
		err := rows.Scan(&m.ID, &m.Conversation, &m.Kind, &m.Content, &m.Importance,
			&m.Pinned, &m.Speaker, &m.SpeakerID, &m.About, &m.AboutID, &m.Reach, &m.By, &m.Compaction,
			&saidAt, store.UTC(&m.SavedAt), store.UTC(&m.Expires), &m.Confirmed, &m.State, &m.SupersededBy, store.JSON(&m.Sources))
		m.SaidAt = store.At(saidAt)
		if m.State == "active" && !m.Pinned && !m.Expires.IsZero() && !m.Expires.After(time.Now()) {
			m.State = "expired"
		}
		return err
	}, "SELECT "+memoryColumns+" FROM memories m "+rest, args...)
}

func readMemory(tx *store.Tx, id int64) Memory {
	return store.First(tx, ReadMemories(tx, "WHERE m.id = ?", id))
}

func readOwned(tx *store.Tx, id int64) (Memory, *store.Conversation) {
	m := readMemory(tx, id)
	return m, tx.Conversation(m.Conversation)
}

func readComplete(tx *store.Tx, id int64) (m Memory, from []chat.Message) {
	m, c := readOwned(tx, id)
	for _, seq := range m.Sources {
		from = append(from, c.In(tx).Messages(seq, seq, "")...)
	}
	return m, from
}

// Details is a memory with all that belongs to it.
type Details struct {
	Memory
	Messages []chat.Record `json:"messages" jsonschema:"that it came from"`
	Chain    []Memory      `json:"chain" jsonschema:"what superseded what, oldest first, itself among them; empty: none"`
}

// chain selects the memories that a memory superseded and those that superseded it, transitively.
const chain = `WHERE m.id IN (
	WITH RECURSIVE later (id) AS (SELECT ?1 UNION SELECT superseded_by FROM memories JOIN later USING (id) WHERE superseded_by IS NOT NULL),
	earlier (id) AS (SELECT ?1 UNION SELECT memories.id FROM memories JOIN earlier ON superseded_by = earlier.id)
	SELECT id FROM later UNION SELECT id FROM earlier) ORDER BY m.id`

// Details returns a memory in any state; of a conversation, only its own. ErrNotFound: there is no such memory.
func (ms Memories) Details(ctx context.Context, id int64) (Details, error) {
	d := Details{Messages: []chat.Record{}, Chain: []Memory{}}
	err := ms.store.View(ctx, func(tx *store.Tx) {
		var from []chat.Message
		d.Memory, from = readComplete(tx, id)
		if ms.c != nil && d.Conversation != ms.c.Name() {
			tx.Fail(store.ErrNotFound)
		}
		for _, message := range from {
			d.Messages = append(d.Messages, chat.RecordOf(message))
		}
		if linked := ReadMemories(tx, chain, id); len(linked) > 1 {
			d.Chain = linked
		}
	})
	return d, store.Fail(fmt.Sprintf("show memory %d", id), err)
}
