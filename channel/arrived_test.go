package channel

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"
	"cairn/store"
)

// acceptedLog is a connector that records its reports.
type acceptedLog struct {
	Connector
	reports []string
}

func (p *acceptedLog) Accepted(_, id string, seq int64) {
	p.reports = append(p.reports, fmt.Sprint(id, "=", seq))
}
func (p *acceptedLog) Compaction(string, Event)                 {}
func (p *acceptedLog) Remembered(string, int64, string, string) {}

// A message may be dequeued before the loop handles its arrival: the report with its seq comes
// last.
func TestMessageWithSeqIsNotReportedAsWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(c *conversation, m []Inbound)
		want []string
	}{
		"taken up first":  {func(c *conversation, m []Inbound) { c.accepted("m", 7); c.arrived(m, make([]store.Receipt, 1)) }, []string{"m=7"}},
		"arrived first":   {func(c *conversation, m []Inbound) { c.arrived(m, make([]store.Receipt, 1)); c.accepted("m", 7) }, []string{"m=7"}},
		"it waits":        {func(c *conversation, m []Inbound) { c.arrived(m, make([]store.Receipt, 1)) }, []string{"m=0"}},
		"it was not kept": {func(c *conversation, m []Inbound) { c.notStored(m) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &acceptedLog{}
				conv := newConversation(&Hub{o: Options{Log: slog.New(slog.DiscardHandler)}}, "terminal:test", log, nil)
				messages := []Inbound{{ID: "m"}}
				conv.coming(messages)
				c.do(conv, messages)
				time.Sleep(2 * ackDelay)
				synctest.Wait()
				for _, f := range conv.inbox.events {
					f()
				}
				check.EqualAll(t, "reports to the connector", log.reports, c.want)
				check.Equal(t, "messages being stored", len(conv.arrivals.storing), 0)
			})
		})
	}
}
