package discord

import (
	"encoding/json"
	"fmt"
	"testing"

	"cairn/channel"
	"cairn/discord/discordtest"
)

func TestWhoMayReadAPlace(t *testing.T) {
	t.Parallel()
	const seen = 1<<10 | 1<<16 // View Channel, Read Message History
	d := bot(t)
	d.updateState("GUILD_CREATE", json.RawMessage(fmt.Sprintf(`{"id":"9",
		"roles":[{"id":"9","name":"@everyone","permissions":"%d"},{"id":"5","name":"helpers","permissions":"8"}],
		"channels":[
			{"id":"20","type":0,"name":"open","permission_overwrites":[]},
			{"id":"21","type":0,"name":"closed","permission_overwrites":[{"id":"9","type":0,"allow":"0","deny":"1024"},{"id":"5","type":0,"allow":"1024","deny":"0"}]},
			{"id":"22","type":0,"name":"for helpers less","permission_overwrites":[{"id":"5","type":0,"allow":"0","deny":"1024"}]},
			{"id":"23","type":0,"name":"untold"},
			{"id":"24","type":0,"name":"without a past","permission_overwrites":[{"id":"9","type":0,"allow":"0","deny":"65536"}]}],
		"threads":[
			{"id":"30","type":11,"parent_id":"20"},{"id":"31","type":12,"parent_id":"20"},{"id":"32","type":11,"parent_id":"21"},
			{"id":"33","type":11,"parent_id":"23"},{"id":"34","type":11,"parent_id":"99"}]}`, seen)))
	d.updateState("GUILD_CREATE", json.RawMessage(`{"id":"8","roles":[{"id":"8","name":"@everyone","permissions":"0"}],
		"channels":[{"id":"40","type":0,"name":"for nobody","permission_overwrites":[]},
			{"id":"41","type":0,"name":"for everyone","permission_overwrites":[{"id":"8","type":0,"allow":"66560","deny":"0"}]}]}`))
	for _, c := range []struct {
		claim, id string
		want      channel.Audience
	}{
		{"a channel that nothing closes is public", "20", channel.ServerWide},
		{"one that everyone is kept out of is its members'", "21", channel.Members},
		{"who is kept out beside does not matter", "22", channel.ServerWide},
		{"of one whose permissions are not told nothing is known", "23", ""},
		{"one whose past is closed is its members'", "24", channel.Members},
		{"a public thread of a public channel is as public", "30", channel.ServerWide},
		{"a private thread never is", "31", channel.Members},
		{"a public thread of a closed channel is for those who read that", "32", channel.ChannelWide},
		{"nor is more known of one whose channel is not known", "33", channel.ChannelWide},
		{"or is nowhere", "34", channel.ChannelWide},
		{"a server may be closed to begin with", "40", channel.Members},
		{"and open one channel", "41", channel.ServerWide},
		{"a place of which nothing was told is nobody's", "77", ""},
	} {
		t.Run(c.claim, func(t *testing.T) {
			if got := d.state.audience(c.id); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("an edit of a role or a channel counts", func(t *testing.T) {
		d.updateState("CHANNEL_UPDATE", json.RawMessage(`{"id":"20","type":0,"guild_id":"9","name":"open","permission_overwrites":[{"id":"9","type":0,"allow":"0","deny":"1024"}]}`))
		if got := d.state.audience("20"); got != channel.Members {
			t.Errorf("got %q", got)
		}
		if got := d.state.audience("30"); got != channel.ChannelWide {
			t.Errorf("its thread: %q", got)
		}
		d.updateState("GUILD_ROLE_UPDATE", json.RawMessage(`{"guild_id":"9","role":{"id":"9","name":"@everyone","permissions":"0"}}`))
		if got := d.state.audience("22"); got != channel.Members {
			t.Errorf("got %q", got)
		}
	})
}

func TestWhoMayReadIsStoredWithWhatIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.store.ShareMemories(true)
	shares := func(name string) bool {
		t.Helper()
		c, err := r.store.Find(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		_, here, err := c.SharesMemories(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return here
	}
	draw := func(overwrites ...any) {
		r.Dispatch("GUILD_CREATE", map[string]any{
			"id": r.guild.ID, "roles": []any{map[string]any{"id": r.guild.ID, "name": "@everyone", "permissions": "66560"}},
			"channels": []any{map[string]any{"id": r.square, "type": 0, "name": "square", "permission_overwrites": append([]any{}, overwrites...)}},
		})
	}
	draw()
	r.ask(r.square, "hello")
	r.answers(r.square, 1)
	if !shares(r.place(r.square)) {
		t.Error("a public channel keeps its memories to itself")
	}
	draw(map[string]any{"id": r.guild.ID, "type": 0, "allow": "0", "deny": "1024"})
	r.ask(r.square, "hello again")
	r.answers(r.square, 2)
	if shares(r.place(r.square)) {
		t.Error("a channel that was closed shares its memories")
	}
	direct := r.Direct(r.ann.ID).ID
	r.Say(direct, r.ann.ID, "hello")
	r.answers(direct, 1)
	if shares("discord:@me/" + direct) {
		t.Error("a direct message shares its memories")
	}
}
