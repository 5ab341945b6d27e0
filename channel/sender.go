package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"cairn/internal/observe"
	"cairn/store"
)

// sender sends what leaves a conversation, replies and notices, in one goroutine that lives while the outbox is not empty.
type sender struct {
	*voice
	loop *loop

	// Only its goroutine uses these.
	sent    int64  // row of the newest piece that was sent, perhaps without the store noting it
	sentID  string // the platform's id of that piece
	refused int    // how often the platform has refused the piece that failed last; 0: that was no refusal

	running sync.WaitGroup // its goroutine

	mu      sync.Mutex // guards everything below
	writers map[string]Writer
	busy    bool // its goroutine runs
	look    bool // the outbox may contain something to send
	looking bool // the connector looks whether the next piece was sent, see Looking
	held    heldText

	failing observe.Incident // the next piece cannot be sent
}

func (s *sender) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// keep passes the sender the writer in which a reply was shown, to finish it there.
func (s *sender) keep(reply string, w Writer) {
	s.locked(func() { s.writers[reply] = w })
}

// heldText is the newest text of the reply being written that could not be shown yet; the zero value: there is none.
type heldText struct {
	writer Writer
	text   string
}

// drop forgets the writer of a reply that is sent, or will not be.
func (s *sender) drop(reply string) { s.locked(func() { delete(s.writers, reply) }) }

// show displays the text so far of the reply being written, once those ahead of it are sent.
func (s *sender) show(w Writer, text string) {
	s.locked(func() {
		s.held = heldText{w, text}
		s.showHeldLocked()
	})
}

func (s *sender) showHeldLocked() {
	if !s.busy && s.held.writer != nil {
		s.held.writer.Show(s.held.text)
		s.held = heldText{}
	}
}

// unhold forgets the text that could not be shown yet: the reply is complete, or will not be sent.
func (s *sender) unhold() { s.locked(func() { s.held = heldText{} }) }

// start makes the sender check the outbox.
func (s *sender) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look = true
	if s.busy {
		return
	}
	s.running.Add(1)
	s.busy = s.goroutines.start(func() {
		defer s.running.Done()
		s.run(s.loop.life)
		s.loop.inbox.post(func() { // for those who wait until it is idle, as the next part of a task does
			s.loop.runs.again = s.loop.runs.again || s.records.IsTask()
		})
	})
	if !s.busy {
		s.running.Done()
	}
}

// firstRetry is how long a piece waits that failed for the first time, as the text that was shown before it does. The next pauses
// are twice as long each; those after more rejections are 3 s, 9 s and so on.
const firstRetry = 500 * time.Millisecond

func (s *sender) run(ctx context.Context) {
	for s.more(ctx) {
		for delay := firstRetry; ; delay = min(2*delay, time.Minute) {
			err := s.sendAll(ctx)
			if err == nil || ctx.Err() != nil {
				s.failing.End()
				break
			}
			s.log.Log(ctx, s.failing.Begin(), "send_reply_failed", "error", err)
			pause := delay
			if s.refused > 1 {
				pause = time.Duration(math.Pow(3, float64(s.refused-1))) * time.Second
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
}

// more reports whether to check the outbox; if not, the sender is done.
func (s *sender) more(ctx context.Context) (more bool) {
	s.locked(func() {
		more = s.look && ctx.Err() == nil
		s.busy = more
		s.look = false
		if ctx.Err() == nil {
			s.showHeldLocked() // the model may write nothing else for a while
		}
	})
	return more
}

// sendAll sends what waits in the outbox, in order. A piece that fails stays and blocks those after it.
func (s *sender) sendAll(ctx context.Context) error {
	s.refused = 0
	pieces, err := s.records.Outbox().Unsent(ctx)
	for _, piece := range pieces {
		err = s.sendOne(ctx, piece)
		if errors.Is(err, store.ErrNotFound) { // it was deleted, with all of a conversation
			s.drop(piece.Reply)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return err
}

// sendOne marks a piece before it hands it to the connector, so that after a crash it is known that
// the piece may have arrived. A piece that was sent and could only not be noted is noted.
func (s *sender) sendOne(ctx context.Context, piece store.Piece) (err error) {
	if piece.Row != s.sent && !piece.Sending {
		err = s.records.Outbox().Sending(ctx, piece.Row)
	}
	if !s.fleet.MayAct() {
		return store.ErrOwned // perhaps: the lease is over
	}
	if piece.Row != s.sent && err == nil {
		var id string
		id, err = s.deliver(ctx, piece)
		if err == nil {
			s.sent = piece.Row
			s.sentID = id
		} else {
			err = s.failed(ctx, piece, err)
		}
	}
	if piece.Row == s.sent && err == nil { // otherwise it was dropped
		err = s.records.Outbox().Sent(context.WithoutCancel(ctx), piece.Row, s.sentID)
	}
	if err == nil && piece.Part == piece.Parts-1 {
		s.drop(piece.Reply)
	}
	return err
}

// deliver gives a piece to the connector.
func (s *sender) deliver(ctx context.Context, piece store.Piece) (id string, err error) {
	defer recoverConnector(&err)
	var w Writer
	s.locked(func() {
		w = s.writers[piece.Reply]
		if w == nil {
			w = s.connector.Reply(s.name, piece.To)
			s.writers[piece.Reply] = w
		}
	})
	return w.Send(context.WithValue(ctx, senderKey{}, s), piece)
}

func (s *sender) idle() (idle bool) {
	s.locked(func() { idle = !s.busy })
	return idle
}

// mayStop reports whether nothing is being sent: the next piece may as well wait for the next owner or process.
func (s *sender) mayStop() (may bool) {
	s.locked(func() { may = !s.busy || s.looking })
	return may
}

// maySettle is workDone for a stop.
func (c *conversation) maySettle() (bool, error) {
	if !c.runs.done() {
		return false, nil
	}
	return c.sender.mayStop(), c.runs.err
}

type senderKey struct{}

// Looking calls look, by which a writer looks for what an earlier process has shown or sent, before it sends a piece: a stop does not wait
// for that, because the platform's limits may make it long, and ends ctx.
func Looking(ctx context.Context, look func(ctx context.Context) error) error {
	if s, ok := ctx.Value(senderKey{}).(*sender); ok {
		s.locked(func() { s.looking = true })
		defer s.locked(func() { s.looking = false })
		s.loop.inbox.post(func() {}) // for those who wait to stop
	}
	return look(ctx)
}

// A piece that a platform keeps refusing must not hold up what waits after it.

// maxRefusals is how often a piece is tried. The pauses add up to about 18 minutes: most platform outages end first.
const maxRefusals = 8

// failed decides what happens to a piece that could not be sent: with an error it is retried; otherwise it was
// dropped. While the connector has no connection, nothing counts as refused.
func (s *sender) failed(ctx context.Context, piece store.Piece, failed error) error {
	if errors.Is(failed, ErrGone) {
		return s.dropPiece(ctx, piece, "unsent-"+piece.Reply, failed)
	}
	if d, ok := s.connector.(interface{ Connected() bool }); ctx.Err() != nil || ok && !d.Connected() {
		return failed
	}
	times, err := s.records.Outbox().Refused(context.WithoutCancel(ctx), piece.Row)
	if err != nil {
		return errors.Join(failed, err)
	}
	if times < maxRefusals {
		s.refused = times
		return fmt.Errorf("refused %d times: %w", times, failed)
	}
	return s.dropPiece(ctx, piece, fmt.Sprintf("unsent-%d", piece.Row), failed)
}

// dropPiece drops a piece, unless it is a notice after saying so under an id: a crash in between changes nothing. Where the bot may
// not write it tells the people who asked.
func (s *sender) dropPiece(ctx context.Context, piece store.Piece, id string, failed error) error {
	ctx = context.WithoutCancel(ctx)
	level := slog.LevelWarn
	why := s.cannotWrite()
	switch {
	case why != "": // the connector has logged it
		level = slog.LevelDebug
		asked, err := s.records.Transcript().Addressed(ctx, piece.To)
		if err != nil {
			return err
		}
		s.explain(why, asked)
	case !piece.Failure:
		text := s.speaker().Say("I could not send all of an answer here: the platform rejected it. It is saved in my history; ask again, perhaps in other words.")
		if err := s.post(ctx, id, text); err != nil {
			return err
		}
	}
	s.log.Log(ctx, level, "reply_dropped", "reply", piece.Reply, "part", piece.Part, "error", failed)
	err := s.records.Outbox().Drop(ctx, piece.Row, failed.Error())
	if err == nil {
		s.counters.dropped()
	}
	return err
}
