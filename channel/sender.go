package channel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cairn/llm"
	"cairn/store"
)

// sender is the one outbound goroutine of a conversation. It lives while the outbox is not empty,
// so that a slow connector delays no turn.
type sender struct {
	c *conversation

	// Only its goroutine uses these.
	sent   int64  // row of the newest piece that was sent, perhaps without the store noting it
	sentID string // the platform's id of that piece

	mu      sync.Mutex // guards everything below
	writers map[string]Writer
	running bool
	look    bool // the outbox may contain something to send
}

// keep passes the sender the writer in which a reply was shown, to finish it there.
func (s *sender) keep(reply string, w Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writers[reply] = w
}

// drop forgets the writer of a reply that is sent, or will not be.
func (s *sender) drop(reply string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writers, reply)
}

// start makes the sender check the outbox.
func (s *sender) start(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look = true
	if s.running {
		return
	}
	s.running = true
	s.c.hub.owners.Go(func() {
		s.run(ctx)
		s.c.inbox.post(func() { // also wakes those who wait until everything is sent
			s.c.runs.again = s.c.runs.again || s.c.isTask() // whose next part waits for that
		})
	})
}

func (s *sender) run(ctx context.Context) {
	for s.more(ctx) {
		var failing llm.Incident
		for delay := time.Second; ; delay = min(2*delay, time.Minute) {
			err := s.sendAll(ctx)
			if err == nil || ctx.Err() != nil {
				if failing.End() {
					s.c.hub.metrics.refused.Add(-1)
				}
				break
			}
			if !failing.On() {
				s.c.hub.metrics.refused.Add(1)
			}
			s.c.log.Log(ctx, failing.Begin(), "send_reply_failed", "error", err)
			pause := delay
			var no *refusedError
			if errors.As(err, &no) {
				pause = no.pause()
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
}

// more reports whether to check the outbox; if not, the sender is done.
func (s *sender) more(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = ctx.Err() == nil && s.look
	s.look = false
	return s.running
}

// sendAll sends what waits in the outbox, in order. A piece that fails stays and blocks those after it.
func (s *sender) sendAll(ctx context.Context) error {
	pieces, err := s.c.records.Outbox().Unsent(ctx)
	for _, piece := range pieces {
		if err = s.sendOne(ctx, piece); errors.Is(err, store.ErrNotFound) { // it was deleted, with all of a conversation
			s.drop(piece.Reply)
			err = nil
		}
		if err != nil {
			break
		}
	}
	return err
}

// sendOne marks a piece before it hands it to the connector, so that after a crash it is known that
// the piece may have arrived. A piece that was sent and could only not be noted is noted.
func (s *sender) sendOne(ctx context.Context, piece store.Piece) error {
	var err error
	if piece.Row != s.sent {
		err = s.handOver(ctx, piece)
	}
	if err == nil && piece.Row == s.sent {
		err = s.c.records.Outbox().Sent(context.WithoutCancel(ctx), piece.Row, s.sentID)
	}
	if err != nil {
		return err
	}
	if piece.Part == piece.Parts-1 {
		s.drop(piece.Reply)
	}
	return nil
}

// handOver gives a piece to the connector. nil: it was sent, or it was dropped.
func (s *sender) handOver(ctx context.Context, piece store.Piece) error {
	s.mu.Lock()
	w := s.writers[piece.Reply]
	if w == nil {
		w = s.c.connector.Reply(s.c.name, piece.To)
		s.writers[piece.Reply] = w
	}
	s.mu.Unlock()
	if !piece.Sending {
		if err := s.c.records.Outbox().Sending(ctx, piece.Row); err != nil {
			return err
		}
	}
	id, err := deliver(ctx, w, piece)
	if err != nil {
		return s.failed(ctx, piece, err)
	}
	s.sent, s.sentID = piece.Row, id
	return nil
}

func deliver(ctx context.Context, w Writer, piece store.Piece) (id string, err error) {
	defer recoverConnector(&err)
	return w.Send(ctx, piece)
}

func (s *sender) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.running
}

// A piece that a platform keeps refusing must not hold up what waits after it.

// maxRefusals is how often a piece is tried. The pauses in between add up to about 18 minutes, so
// that most platform outages end first.
const maxRefusals = 8

// refusedError is a refusal of a piece that will be retried.
type refusedError struct {
	times int
	err   error
}

func (e *refusedError) Error() string { return fmt.Sprintf("refused %d times: %v", e.times, e.err) }
func (e *refusedError) Unwrap() error { return e.err }

// pause returns the wait before the next try.
func (e *refusedError) pause() time.Duration {
	pause := time.Second
	for range min(e.times, maxRefusals) - 1 {
		pause *= 3
	}
	return pause
}

// failed decides what happens to a piece that could not be sent: if it returns an error, the piece
// is retried; otherwise it was dropped. While the connector has no connection nothing counts as
// refused, and the piece waits.
func (s *sender) failed(ctx context.Context, piece store.Piece, failed error) error {
	if errors.Is(failed, ErrGone) {
		if err := s.reportUnsent(ctx, piece, "unsent-"+piece.Reply, "the platform rejected it"); err != nil {
			return err
		}
		return s.dropPiece(ctx, piece, failed)
	}
	if d, ok := s.c.connector.(interface{ Connected() bool }); ctx.Err() != nil || ok && !d.Connected() {
		return failed
	}
	times, err := s.c.records.Outbox().Refused(context.WithoutCancel(ctx), piece.Row)
	if err != nil {
		return errors.Join(failed, err)
	}
	if times < maxRefusals {
		return &refusedError{times, failed}
	}
	if err := s.reportUnsent(ctx, piece, fmt.Sprintf("unsent-%d", piece.Row), "it was rejected again and again"); err != nil {
		return err
	}
	return s.dropPiece(ctx, piece, failed)
}

// reportUnsent posts one sentence about a piece that is about to be dropped, unless the piece is
// itself a sentence about a failure. It posts before the drop, so that a crash in between changes
// nothing.
func (s *sender) reportUnsent(ctx context.Context, piece store.Piece, id, why string) error {
	if piece.Failure {
		return nil
	}
	what := "an answer here"
	if piece.Parts > 1 {
		what = fmt.Sprintf("part %d of %d of my answer", piece.Part+1, piece.Parts)
	}
	text := fmt.Sprintf("I could not send %s: %s. It is kept in my history; ask again, perhaps in other words.", what, why)
	return s.c.notify(context.WithoutCancel(ctx), id, text)
}

func (s *sender) dropPiece(ctx context.Context, piece store.Piece, why error) error {
	s.c.log.Warn("reply_dropped", "reply", piece.Reply, "part", piece.Part, "error", why)
	err := s.c.records.Outbox().Drop(context.WithoutCancel(ctx), piece.Row, why.Error())
	if err == nil {
		s.c.hub.metrics.dropped.Add(1)
	}
	return err
}
