package terminal

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
)

func TestPieces(t *testing.T) {
	s := open(t, Options{In: strings.NewReader(""), JSON: true}, nil)
	check.EqualAll(t, "a reply was cut", s.connector.Split("a\nb"), []string{"a\nb"})
	w := s.connector.Reply("terminal:x", nil)
	id, err := w.Send(t.Context(), channel.Piece{Reply: "r", Text: "t"})
	if err != nil || id != "r" || s.out.String() != `{"type":"reply","channel":"x","id":"r","to":[],"text":"t"}`+"\n" {
		t.Errorf("got %q, %v, %s", id, err, s.out)
	}
	t.Run("what cannot be written is not said to be sent", func(t *testing.T) {
		s := open(t, Options{In: strings.NewReader(""), Out: failing{}, Err: io.Discard, JSON: true}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel) // as the bot does when the run has ended
		if _, err := s.connector.Reply("terminal:x", nil).Send(ctx, channel.Piece{}); err == nil {
			t.Error("source")
		}
	})
}
