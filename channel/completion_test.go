package channel_test

import (
	"errors"
	"testing"

	"cairn/channel"
	"cairn/testkit/check"
)

// A transcript that was paid for is not bought again because another file cannot be fetched.
func TestTheSecondTryToCompleteAMessageKeepsWhatTheFirstOneFound(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		tries := 0
		r.throughConnector(&platform{complete: func(m channel.Inbound) (channel.Inbound, error) {
			tries++
			if tries == 1 {
				m.Text += ", heard"
				return m, errors.New("the other file cannot be fetched")
			}
			return m, nil
		}})
		r.post(lacking("1", 0, true))
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: 1, heard", "assistant: answer 1"})
	})
}
