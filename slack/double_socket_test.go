// How the workspace of the other tests delivers events over sockets, and judges acknowledgements.

package slack

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"cairn/internal/check"
	"cairn/slack/slacktest"
)

// envelope is what of an envelope these tests read.
type envelope struct {
	Type           string
	NumConnections int    `json:"num_connections"`
	ID             string `json:"envelope_id"`
	Payload        struct {
		EventID string `json:"event_id"`
	}
}

// dial opens a socket, and returns how to read from it and write to it.
func (d *double) dial() (hello envelope, read func() envelope, write func(text string)) {
	d.t.Helper()
	_, url, err := d.api.StartSocketModeContext(d.t.Context())
	check.NoError(d.t, err)
	conn, _, err := websocket.DefaultDialer.DialContext(d.t.Context(), url, nil)
	check.NoError(d.t, err)
	d.t.Cleanup(func() { conn.Close() })
	read = func() (e envelope) {
		d.t.Helper()
		check.NoError(d.t, errors.Join(conn.SetReadDeadline(time.Now().Add(soon)), conn.ReadJSON(&e)))
		return e
	}
	return read(), read, func(text string) { check.NoError(d.t, conn.WriteMessage(websocket.TextMessage, []byte(text))) }
}

func (d *double) emit() (eventID string) { return d.Emit(map[string]any{"type": "app_home_opened"}) }

func TestWhatNobodyAcknowledgesComesFourTimes(t *testing.T) {
	d := newDouble(t, slacktest.Options{AckWithin: 50 * time.Millisecond, Redeliver: []time.Duration{0, 50 * time.Millisecond, 50 * time.Millisecond}})
	d.emit()
	d.eventually("the last try of an event that finds no socket", func() bool { return len(d.Deliveries()) == 4 })
	for _, delivery := range d.Deliveries() {
		check.Equal(t, "socket", delivery.Socket, 0)
	}
	var reads [3]func() envelope
	var writes [3]func(text string)
	for i := range reads {
		var hello envelope
		hello, reads[i], writes[i] = d.dial()
		check.That(t, hello.Type == "hello" && hello.NumConnections == i+1, "%+v", hello)
	}
	id, envelopes := d.emit(), map[string]bool{}
	for i := range 4 { // the sockets take turns
		e := reads[(i+1)%3]()
		envelopes[e.ID] = true
		check.Equal(t, "the event", e.Payload.EventID, id)
	}
	check.Equal(t, "envelopes", len(envelopes), 4)
	writes[0](fmt.Sprintf(`{"envelope_id":%q}`, d.Deliveries()[4].EnvelopeID))
	d.eventually("a complaint of what is late", func() bool { return strings.Contains(fmt.Sprint(d.Complaints()), "after") })
}

func TestAcknowledgementsAreJudged(t *testing.T) {
	d := newDouble(t, slacktest.Options{})
	_, read, write := d.dial()
	id := d.emit()
	ack := fmt.Sprintf(`{"envelope_id":%q}`, read().ID)
	write(ack)
	d.eventually("it is acknowledged", func() bool { return !d.Deliveries()[0].Acked.IsZero() })
	d.Repeat(id)
	check.Equal(t, "the event comes again", read().Payload.EventID, id)
	for _, text := range []string{ack, `{"envelope_id":"nobody's"}`, `{"envelope_id":"big","payload":{"text":"` + strings.Repeat("x", 20*1024) + `"}}`, `{`} {
		write(text)
	}
	d.eventually("four complaints", func() bool { return len(d.Complaints()) == 4 })
	for i, word := range []string{"twice", "unknown", "bytes", "not an"} {
		check.Contains(t, "the complaint", d.Complaints()[i], word)
	}
}
