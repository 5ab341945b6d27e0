// The double with several sockets, as several processes have.

package slack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestEnvelopesOfSeveralSockets(t *testing.T) {
	d := newDouble(t, slacktest.Options{AckWithin: 100 * time.Millisecond, Redeliver: []time.Duration{0}})
	_, readFirst, writeFirst := d.dial()
	_, readSecond, writeSecond := d.dial()
	for range 3 {
		d.emit() // of two that follow each other, each is on its way to one socket
		d.emit()
		for _, read := range []func() envelope{readFirst, readSecond} {
			read()
		}
		for _, read := range []func() envelope{readFirst, readSecond} {
			read() // what the other one did not acknowledge
		}
	}
	for i, delivery := range d.Deliveries() {
		for _, earlier := range d.Deliveries()[:i] {
			check.That(t, earlier.EventID != delivery.EventID || earlier.Socket != delivery.Socket, "an event comes twice over socket %d", delivery.Socket)
		}
	}
	d.emit()
	first := d.Deliveries()[len(d.Deliveries())-1]
	other := writeFirst
	if first.Socket == 1 {
		other = writeSecond
	}
	other(fmt.Sprintf(`{"envelope_id":%q}`, first.EnvelopeID))
	check.Require(t, check.Soon(func() bool { return strings.Contains(fmt.Sprint(d.Complaints()), "over another socket") }), "never: a complaint")
}

func TestTheEleventhSocket(t *testing.T) {
	d := newDouble(t, slacktest.Options{})
	for n := range 10 {
		hello, _, _ := d.dial()
		check.Equal(t, "sockets", hello.NumConnections, n+1)
	}
	last, _, _ := d.dial()
	check.Equal(t, "the eleventh gets", last.Type, "disconnect")
	check.Len(t, "sockets", d.Sockets(), 10)
}
