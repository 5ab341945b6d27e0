// The part of the head from before the session: summaries of earlier sessions, which lie between two
// /new of a conversation, and what a thread inherited from the conversation that it belongs to.

package transcript

import (
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
)

// Past is what the head shows from before the session, oldest first.
type Past struct {
	Entries []Entry
	Tokens  int
}

// Entry is one text of the past.
type Entry struct {
	Row    Summary // that it shows; its Kind is "": none
	Ours   bool    // Row is of the conversation itself; otherwise inherited
	Root   bool    // it shows the thread's parent message
	text   string
	tokens int
}

// Shows reports whether the past shows a row of the conversation itself.
func (p Past) Shows(row int64) bool {
	return slices.ContainsFunc(p.Entries, func(e Entry) bool { return e.Ours && e.Row.ID == row })
}

// newSession separates earlier sessions from the current one.
const newSession = "[System: here somebody began anew with /new; what stands above is from before]"

// NewSessionTokens is the cost of the line that separates earlier sessions from the current one.
var NewSessionTokens = tokens.PerMessage + tokens.Estimate(newSession)

// add adds an entry if there is room, and reports whether it did.
func (p *Past) add(e Entry, limit int) bool {
	if e.tokens == 0 || p.Tokens+e.tokens > limit {
		return false
	}
	p.Entries = append(p.Entries, e)
	p.Tokens = p.Tokens + e.tokens
	return true
}

// pastOf chooses what the head shows: the newest rows of the newest sessions, then what the
// thread inherited, its parent message first, until one does not fit. Of that one it shows what fits.
func pastOf(h Head, sh Shape, shorten Shorten) (p Past) {
	limit := sh.MaxPast
	defer func() { slices.Reverse(p.Entries) }()
	for n, session := range slices.Backward(h.Earlier) {
		if len(h.Earlier)-n > sh.MaxSessions {
			return p
		}
		for _, row := range slices.Backward(session.Rows) {
			begin := Entry{text: newSession, tokens: NewSessionTokens}
			if len(p.Entries) > 0 {
				begin = Entry{}
			}
			e, complete := entryOf(row, Summary.Render, limit-p.Tokens-begin.tokens, shorten)
			e.Ours = true
			if e.tokens > 0 {
				p.add(begin, limit)
			}
			if !p.add(e, limit) || !complete {
				return p
			}
		}
	}
	if root := h.Inherited.Root; root != nil && !p.add(rootEntry(*root, limit/rootShare), limit) {
		return p
	}
	for _, row := range slices.Backward(h.Inherited.Stack) {
		e, complete := entryOf(row, Summary.RenderInherited, limit-p.Tokens, shorten)
		if !p.add(e, limit) || !complete {
			return p
		}
	}
	return p
}

// entryOf returns a row as render shows it, in at most limit tokens: a longer one without its least
// important sentences. It costs nothing if too little would be left.
func entryOf(row Summary, render func(Summary) string, limit int, shorten Shorten) (e Entry, complete bool) {
	if row.Tokens <= limit {
		return Entry{Row: row, text: render(row), tokens: row.Tokens}, true
	}
	short := row
	short.Text = ""
	short.Lines = nil
	room := limit - tokens.PerMessage - tokens.Estimate(render(short)) - 1 // sums of parts are rounded up
	if row.Kind == Placeholder || room < MinSummary || shorten == nil {
		return Entry{}, false
	}
	short.Text = shorten(row.Marked(), room)
	text := render(short)
	return Entry{Row: row, text: text, tokens: tokens.PerMessage + tokens.Estimate(text)}, false
}

// rootShare is the part of the past's budget that a thread's parent message may take: 1/2.
const rootShare = 2

// rootEntry shows a thread's parent message in at most limit tokens, unless its heading alone takes
// more.
func rootEntry(m chat.Message, limit int) Entry {
	who := "you"
	if m.Role == llm.RoleUser {
		who = chat.CleanName(m.Author)
	}
	if to := chat.RepliedTo(m); to != "" {
		who += ", replying to " + to
	}
	line := fmt.Sprintf("[System: this thread hangs on a message of %s by %s]\n", chat.Time(m.Time), who)
	text := line + chat.Escape(m.Body())
	if tokens.PerMessage+tokens.Estimate(text) > limit {
		if short := chat.Excerpt(m.Quote, shortQuote); short != m.Quote && m.ReplySeq == 0 {
			m.Quote = short
			return rootEntry(m, limit)
		}
		rest := limit - tokens.PerMessage - tokens.Estimate(line)
		text = line + chat.Escape(tokens.Clip(m.Body(), max(rest, 0)))
	}
	return Entry{Root: true, text: text, tokens: tokens.PerMessage + tokens.Estimate(text)}
}
