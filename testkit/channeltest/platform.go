// What every connector to a platform does alike: with a wrong clock, a connection that delivers nothing, or a platform that is
// silent.

package channeltest

import (
	"context"
	"strings"
	"testing"
	"time"

	"cairn/testkit/check"
)

// Platform is a connector to a platform with a connection.
type Platform interface {
	Connector
	Connected() bool
	Problem() string
	Check(ctx context.Context) (facts []string, err error)
}

// WrongClock calls test with how far the platform's clock is ahead of this machine's. test asks the bot while it is away, in a
// place where it has answered and in another, waits for its answers, and returns what was logged and what Check found.
func WrongClock(t *testing.T, test func(t *testing.T, ahead time.Duration) (log, facts string)) {
	for claim, ahead := range map[string]time.Duration{"this machine is fast": -2 * time.Hour, "this machine is slow": 2 * time.Hour} {
		t.Run(claim, func(t *testing.T) {
			log, facts := test(t, ahead)
			check.Contains(t, "log", log, "clock_wrong")
			check.Contains(t, "what doctor shows", facts, "the clock of this machine is 2h0m")
		})
	}
}

// DeafConnection is how to make a connection deliver nothing, and to notice it. The connector rechecks only when Recheck says so: what
// proves that a connection is deaf then does not depend on how fast the machine is.
type DeafConnection struct {
	Say      func(n int) // asks the bot for the n-th time
	Answered func(n int) // waits for n answers
	Deafen   func()      // has the latest connection deliver nothing
	Recheck  func()      // compares with the history, RecheckDelay later
	Replaced func()      // waits for the second connection
}

// RecheckDelay is before each recheck. It is also how much later than the last event a message must be, and how old, to prove that a
// connection is deaf.
const RecheckDelay = 100 * time.Millisecond

// ReplacesDeafConnectionOnce checks that the program replaces a connection that delivers nothing, and not the next one soon after.
func (p *Program) ReplacesDeafConnectionOnce(c DeafConnection) {
	p.T.Helper()
	asked := 0
	ask := func(recheck bool) {
		p.T.Helper()
		asked++
		c.Say(asked)
		if recheck {
			c.Recheck()
		}
		c.Answered(asked)
	}
	lost := func() {
		p.T.Helper()
		time.Sleep(2 * RecheckDelay)
		ask(true)
	}
	replaced := func() int { return strings.Count(p.Log.String(), "connection_deaf") }
	ask(false)
	c.Deafen()
	for range 10 { // an event from before may have arrived late
		lost()
		if replaced() > 0 {
			break
		}
	}
	c.Replaced()
	ask(false)
	c.Deafen()
	lost()
	lost()
	check.Equal(p.T, "connections that were replaced", replaced(), 1)
}

// NamesSilence checks what the program shows of a platform that accepts a connection and then does not go on: the log says what it
// waits for, and so does /readyz, until it goes on, after again.
func (p *Program) NamesSilence(connector Platform, waits, hint string, again func()) {
	p.T.Helper()
	soon := func(what string, condition func() bool) {
		p.T.Helper()
		check.Require(p.T, check.Soon(condition), "never: %s\n%s", what, &p.Log)
	}
	soon("the problem", func() bool { return connector.Problem() == "waiting for "+waits+": "+hint })
	check.Equal(p.T, "connected", connector.Connected(), false)
	again()
	soon("it is connected", func() bool { return connector.Connected() && connector.Problem() == "" })
	soon("the recovery", func() bool { return strings.Contains(p.Log.String(), "connection_recovered") })
	check.Equal(p.T, "warnings", strings.Count(p.Log.String(), "level=WARN msg=connection_silent"), 1)
	want := "msg=connection_silent connector=" + connector.Name() + " waits_for=\"" + waits + "\" after=500ms hint=\"" + hint
	check.Contains(p.T, "the log", p.Log.String(), want)
}
