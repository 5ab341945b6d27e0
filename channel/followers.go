package channel

import (
	"cairn/compactor"
)

// followers are notified of what happens in a conversation: its connector and the hooks of the hub.
type followers struct {
	name     string   // of the conversation
	observer Observer // the connector; nil: it does not follow its conversations
	hooks    Hooks
}

// compaction reports a step of a compaction.
func (f *followers) compaction(e compactor.Event) {
	if f.observer != nil {
		f.observer.Compaction(f.name, e)
	}
	if f.hooks.After != nil {
		f.hooks.After(f.name, e)
	}
}

// remembered reports a new memory.
func (f *followers) remembered(id int64, kind, content string) {
	if f.observer != nil {
		f.observer.Remembered(f.name, id, kind, content)
	}
	if f.hooks.Remembered != nil {
		f.hooks.Remembered(f.name, id, kind, content)
	}
}

// waiting reports that a call starts or stops waiting for permission.
func (f *followers) waiting() {
	if f.hooks.Asked != nil {
		f.hooks.Asked(f.name)
	}
}

// replied reports a stored reply; failure: it has no word of the model.
func (f *followers) replied(to []string, text string, failure bool) {
	if f.hooks.Replied != nil {
		f.hooks.Replied(f.name, to, text, failure)
	}
}
