package discord

import (
	"testing"
	"time"

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
			r.NamesSilence(r.connector, waits, silentHint, func() { r.connected(1) })
		})
	}
}
