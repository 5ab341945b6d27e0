package channel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cairn/memory"
)

// What a platform refuses again and again must not hold up what waits behind it.

// mostRefusals is how often a piece is tried. The pauses between them make about 18
// minutes, so that most outages of a platform end before.
const mostRefusals = 8

// refusedError is a refusal of a piece that will be tried again.
type refusedError struct {
	times int
	err   error
}

func (e *refusedError) Error() string { return fmt.Sprintf("refused %d times: %v", e.times, e.err) }
func (e *refusedError) Unwrap() error { return e.err }

// pause is the wait before the next try.
func (e *refusedError) pause() time.Duration {
	pause := time.Second
	for range min(e.times, mostRefusals) - 1 {
		pause *= 3
	}
	return pause
}

// failed decides what happens to a piece that could not be sent: with an error it is
// tried again, else it was dropped. While the connector has no connection nothing was
// refused, and the piece waits.
func (s *sender) failed(ctx context.Context, piece memory.Piece, failed error) error {
	if errors.Is(failed, ErrGone) {
		if err := s.tellUnsent(ctx, piece, "unsent-"+piece.Reply, "this platform refuses it"); err != nil {
			return err
		}
		return s.dropPiece(ctx, piece, failed)
	}
	if d, ok := s.c.connector.(interface{ Connected() bool }); ctx.Err() != nil || ok && !d.Connected() {
		return failed
	}
	times, err := s.c.records.Refused(context.WithoutCancel(ctx), piece.Row)
	if err != nil {
		return errors.Join(failed, err)
	}
	if times < mostRefusals {
		return &refusedError{times, failed}
	}
	if err := s.tellUnsent(ctx, piece, fmt.Sprintf("unsent-%d", piece.Row), "it was refused again and again"); err != nil {
		return err
	}
	return s.dropPiece(ctx, piece, failed)
}

// tellUnsent posts one sentence about a piece that is about to be dropped; of a sentence
// about a failure none. It is posted before the drop: a crash between them changes nothing.
func (s *sender) tellUnsent(ctx context.Context, piece memory.Piece, id, why string) error {
	if piece.Failure {
		return nil
	}
	what := "an answer here"
	if piece.Parts > 1 {
		what = fmt.Sprintf("part %d of %d of my answer", piece.Part+1, piece.Parts)
	}
	text := fmt.Sprintf("I could not send %s: %s. It is kept in my history; ask again, perhaps in other words.", what, why)
	if err := s.c.records.Post(context.WithoutCancel(ctx), memory.Outcome{Reply: id, Pieces: []string{text}, Failure: true}); err != nil {
		return err
	}
	s.start(s.c.hub.ctx)
	return nil
}

func (s *sender) dropPiece(ctx context.Context, piece memory.Piece, why error) error {
	s.c.log.Warn("reply_dropped", "reply", piece.Reply, "part", piece.Part, "error", why)
	err := s.c.records.Drop(context.WithoutCancel(ctx), piece.Row, why.Error())
	if err == nil {
		s.c.hub.metrics.dropped.Add(1)
	}
	return err
}
