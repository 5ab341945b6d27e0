// Drafts: messages that show an answer while it is written. A reply to one is for that answer.

package discord

import "sync"

// drafts are messages by id. It is safe for concurrent use.
type drafts struct{ ids sync.Map }

func (d *drafts) has(id string) bool {
	_, is := d.ids.Load(id)
	return is
}

// noteDraft notes the message of a streamed piece, unless the answer is complete.
func (w *writer) noteDraft(p *streamedPiece) {
	if w.Live.Err() == nil {
		w.history.translator.drafts.ids.Store(p.id, true)
	}
}

// endDrafts notes that the answer is complete, or will not be; its stream has ended.
func (w *writer) endDrafts() {
	for _, p := range w.pieces {
		w.history.translator.drafts.ids.Delete(p.id)
	}
}
