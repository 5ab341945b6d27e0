package terminal

import (
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestSlowAnswerIsShownWhole(t *testing.T) {
	const want = "Ada moved to Turin"
	t.Run("plain", func(t *testing.T) {
		s := talk(t, Options{}, "Ada moved to Turin in May.\n/recap\n/help\n", echo)
		recap, help := strings.Index(s.out.String(), "Made without a model"), strings.Index(s.out.String(), "/compact")
		if strings.Count(s.out.String(), want) != 3 || recap < 0 || help < recap || strings.Contains(s.out.String(), "one moment") {
			t.Errorf("got %q", s.out)
		}
	})
	t.Run("JSON Lines", func(t *testing.T) {
		s := talk(t, asJSON, `{"id":"1","text":"Ada moved to Turin in May."}`+"\n"+`{"id":"2","text":"/recap"}`+"\n", echo)
		replies := s.of(t, "reply")
		check.Len(t, "replies", replies, 2)
		check.Contains(t, "second reply", replies[1], want, "Made without a model")
	})
}
