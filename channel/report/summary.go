// Summaries and their lines, as /context, /summaries, the dashboard and the API show them.

package report

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/store"
)

// StackEntry is one entry of the stack.
type StackEntry struct {
	ID           int64          `json:"id"`
	Level        int            `json:"level"`
	Kind         compactor.Kind `json:"kind"`
	By           compactor.By   `json:"by"`
	From         int64          `json:"from_seq"`
	To           int64          `json:"to_seq"`
	FromTime     time.Time      `json:"from_time"`
	ToTime       time.Time      `json:"to_time"`
	Tokens       int            `json:"tokens"`
	Text         string         `json:"text"` // as the model sees it
	Lines        []SummaryLine  `json:"lines"`
	Without      int            `json:"without_evidence"`  // how many lines have no evidence
	Dropped      int            `json:"dropped"`           // how many further lines the messages contradicted
	DroppedLines []DroppedLine  `json:"dropped_lines"`     // some of these, and lines that people removed or rewrote; no model reads them
	Session      int64          `json:"session,omitempty"` // of an earlier session: its first message
	Hidden       bool           `json:"hidden,omitempty"`  // not shown: there are newer ones, or there is no room
}

// SummaryLine is a line of a summary that claims something.
type SummaryLine struct {
	Number   int     `json:"number"` // from 1
	Text     string  `json:"text"`
	Seqs     []int64 `json:"seqs"`               // the messages that say it
	Beside   bool    `json:"beside,omitempty"`   // no message of the summary's says it, but what its writer was shown beside them
	Earlier  int64   `json:"earlier,omitempty"`  // if beside: the summary that says it; absent: it is none, or not known
	Evidence *bool   `json:"evidence,omitempty"` // it has some, or a person wrote it; absent: not known
	By       string  `json:"by,omitempty"`       // the name of the person who wrote it
	At       int     `json:"-"`                  // its index among the lines of StackEntry.Text
}

// DroppedLine is a line that is not in a summary.
type DroppedLine struct {
	Text string `json:"text"`
	Why  string `json:"why"`          // in English
	By   string `json:"by,omitempty"` // the name of the person who removed or rewrote it; absent: the messages contradict it
}

// LinesOf returns the lines of a summary that claim something, as people count them.
func LinesOf(s compactor.Summary) []SummaryLine {
	claims := s.Claims()
	lines := make([]SummaryLine, len(claims))
	for i, claim := range claims {
		lines[i] = SummaryLine{
			Number: i + 1, Text: claim.Text, Seqs: append([]int64{}, claim.Seqs...), Beside: claim.Beside, Earlier: claim.Earlier, By: claim.By, At: claim.At,
		}
		if claim.Known {
			lines[i].Evidence = new(claim.HasEvidence())
		}
	}
	return lines
}

// StackEntryOf converts a summary to an entry of the stack.
func StackEntryOf(s compactor.Summary) StackEntry {
	text := s.Marked()
	lines := LinesOf(s)
	if s.Kind == compactor.Placeholder {
		text = s.Render()
		for i := range lines {
			lines[i].At++ // they stand under the placeholder's own line
		}
	}
	lost := make([]DroppedLine, len(s.DroppedLines))
	for i, l := range s.DroppedLines {
		lost[i] = DroppedLine{Text: l.Text, Why: l.Why, By: l.By}
	}
	return StackEntry{
		ID: s.ID, Level: s.Level, Kind: s.Kind, By: s.By, From: s.From, To: s.To,
		FromTime: s.FromTime.UTC(), ToTime: s.ToTime.UTC(), Tokens: s.Tokens, Text: text,
		Lines: lines, Without: s.Unsupported(), Dropped: s.Dropped, DroppedLines: lost,
	}
}

func stackOf(rows []compactor.Summary) []StackEntry {
	all := make([]StackEntry, len(rows))
	for i, row := range rows {
		all[i] = StackEntryOf(row)
	}
	return all
}

// maxShown is how many messages of a line's evidence are shown: a line of an extract may quote a hundred.
const maxShown = 12

// Numbered formats the numbers of messages, the first maxShown of them and how many there are: "#12, #15", "#1, #2, … (140)".
func Numbered(seqs []int64) string {
	names := make([]string, min(len(seqs), maxShown))
	for i := range names {
		names[i] = "#" + strconv.FormatInt(seqs[i], 10)
	}
	shown := strings.Join(names, ", ")
	if len(seqs) > maxShown {
		shown += fmt.Sprintf(", … (%d)", len(seqs))
	}
	return shown
}

// Evidence returns the first maxShown messages that a line of a summary rests on, without those that were deleted since.
func Evidence(ctx context.Context, records *store.Conversation, l SummaryLine) (messages []chat.Record, err error) {
	for _, seq := range l.Seqs[:min(len(l.Seqs), maxShown)] {
		m, failed := records.Transcript().Message(ctx, seq)
		if failed == nil {
			messages = append(messages, chat.RecordOf(m))
		} else if !errors.Is(failed, store.ErrNotFound) {
			err = failed
		}
	}
	return messages, err
}

// MessagesIn returns how many messages were summarized in one step: a fold is of some that are summarized already.
func MessagesIn(rows []compactor.Summary) (n int) {
	for _, row := range rows {
		if row.Kind == compactor.Leaf {
			n += row.Messages
		}
	}
	return n
}

// SpansIn returns how many spans were summarized in one step, and the range of their messages; of a step that summarized
// none, such as a fold, the range of the event.
func SpansIn(e compactor.Event) (n int, from, to int64) {
	for _, row := range e.Set {
		if row.Kind != compactor.Leaf {
			continue
		}
		n++
		if n == 1 {
			from = row.From
		}
		from = min(from, row.From)
		to = max(to, row.To)
	}
	if n == 0 {
		return 0, e.From, e.To
	}
	return n, from, to
}
