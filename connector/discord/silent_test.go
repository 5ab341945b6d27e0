package discord

import (
	"strings"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

// Discord accepts the connection and does not go on: the log says what it waits for, and so does /readyz, until it goes on.
func TestSilentGateway(t *testing.T) {
	for waits, stop := range map[string]func(r *rig){
		"HELLO of the gateway":           func(r *rig) { r.Handshakes(discordtest.Handshake{SilentHello: true}) },
		"READY of the gateway":           func(r *rig) { r.Handshakes(discordtest.Handshake{SilentReady: true}) },
		"the answer to GET /gateway/bot": func(r *rig) { r.Fail(discordtest.Fault{Of: "GET /gateway/bot", Delay: 3 * time.Second}) },
	} {
		t.Run(waits, func(t *testing.T) {
			r := newRig(t, discordtest.Options{}, func(d *Discord) {
				d.Link.Patience = 500 * time.Millisecond
				d.pauses.open = 3 * time.Second
			})
			stop(r)
			r.open()
			r.Run()
			problem := "waiting for " + waits + ": " + silentHint
			r.until("the problem", func() bool { return r.connector.Problem() == problem })
			r.connected(1)
			r.until("no problem", func() bool { return r.connector.Problem() == "" })
			r.until("the recovery", func() bool { return strings.Contains(r.Log.String(), "connection_recovered") })
			check.Equal(t, "warnings", strings.Count(r.Log.String(), "level=WARN msg=connection_silent"), 1)
			check.Contains(t, "the log", r.Log.String(), "msg=connection_silent connector=discord waits_for=\""+waits+"\" after=500ms hint=\""+silentHint)
		})
	}
}
