// The answers to the last commands, so that a command that is sent twice runs once.
package terminal

import "sync"

// maxAnswers bounds what is kept.
const maxAnswers = 1000

// answers are kept for one run: a command leaves no trace on disk.
type answers struct {
	mu    sync.Mutex // guards everything below
	lines map[commandID]replyLine
	order []commandID // oldest first
}

type commandID struct{ conversation, id string }

func newAnswers() *answers { return &answers{lines: make(map[commandID]replyLine)} }

// find returns the answer that a command was given before.
func (a *answers) find(r request) (replyLine, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	line, known := a.lines[commandID{r.conversation, r.ID}]
	return line, known
}

// keep notes an answer, and forgets the oldest if there are too many.
func (a *answers) keep(r request, line replyLine) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := commandID{r.conversation, r.ID}
	if _, known := a.lines[key]; !known {
		a.order = append(a.order, key)
	}
	a.lines[key] = line
	if len(a.order) > maxAnswers {
		delete(a.lines, a.order[0])
		a.order = a.order[1:]
	}
}
