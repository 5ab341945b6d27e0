package channel

import (
	"errors"
	"fmt"
	"testing"

	"cairn/internal/check"
	"cairn/store"
)

// A full disk that stops several conversations is one incident, whatever each was about to write.
func TestIncidentHasOneCause(t *testing.T) {
	var all incidents
	full := func(name string) error {
		inside := fmt.Errorf("post part 0 of reply %s: %w", name, errors.New("database or disk is full"))
		return fmt.Errorf("finish turn of %s: %w", name, fmt.Errorf("%w: make room: %w", store.ErrFull, inside))
	}
	check.Equal(t, "the first is new", all.stuck("a", full("a")), true)
	check.Equal(t, "the second is new", all.stuck("b", full("b")), false)
}
