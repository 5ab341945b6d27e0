package discord

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel/access"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

// Discord hides from others what only people with its own rights may run, and not what the settings let more people run.
func TestCommandsForManagersAreHidden(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.tune = append(r.tune, func(d *Discord) { d.pauses.settings = 50 * time.Millisecond })
	r.start().registered()
	hidden := func() (names []string) {
		for _, c := range r.Commands() {
			if c.DefaultMemberPermissions != nil {
				check.Equal(t, "what /"+c.Name+" needs", *c.DefaultMemberPermissions, discordgo.PermissionManageMessages)
				names = append(names, c.Name)
			}
		}
		return names
	}
	for _, c := range r.Commands() {
		check.Equal(t, "where /"+c.Name+" can be used, and for whom", fmt.Sprint(*c.Contexts, *c.IntegrationTypes), "[0 1] [0]")
	}
	byDefault := []string{"compact", "undo", "new", "pin", "unpin", "pause", "resume", "settings", "model", "tools", "allow", "deny", "Pin this"}
	check.EqualAll(t, "hidden", hidden(), byDefault)

	r.Hub.Renew(access.Rules{Restricted: []string{"recap", "forget"}}) // everyone may use /forget me
	want := []string{"recap", "tools", "allow", "deny", "Recap from here"}
	r.until("commands by the new settings", func() bool { return slices.Equal(hidden(), want) })
	r.Hub.Renew(access.Rules{Access: map[string]access.Access{Name: {Managers: []string{r.ann.ID}}}})
	r.until("commands that the settings let others run", func() bool { return len(hidden()) == 0 })
}
