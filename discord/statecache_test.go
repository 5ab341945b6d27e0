// Where things are, told by events that leave something out.

package discord

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cairn/channel"
	"cairn/discord/discordtest"
	"cairn/internal/check"
	"cairn/memory"
	"cairn/words/wordstest"
)

func TestAChannelWhoseServerIsNotToldIsNoDirectMessage(t *testing.T) {
	t.Parallel()
	d := bot(t)
	for _, e := range []struct{ name, data string }{
		{"CHANNEL_UPDATE", `{"id":"20","type":0,"name":"general"}`},
		{"THREAD_CREATE", `{"id":"30","type":11,"name":"plans","parent_id":"20"}`},
		{"THREAD_CREATE", `{"id":"31","type":11,"name":"plans","parent_id":"21"}`}, // of which nothing is known
	} {
		d.updateState(e.name, json.RawMessage(e.data))
	}
	for id, want := range map[string]string{"20": "discord:9/20", "30": "discord:9/20/30", "31": "discord:9/21/31"} {
		check.Equal(t, id+" is called", d.locate(t.Context(), id, "9").conversation(), want)
	}
}

func TestWhatWasSaidBeforeTheBotJoinedWasNotMissed(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Rules.Respond = func(string) channel.Respond { return channel.RespondAll }
	r.start()
	r.converse("hello", 1)
	r.Drop(3)
	village := r.Guild("village", r.ann)
	well := r.Channel(village.ID, "well").ID
	m := r.Say(well, r.ann.ID, "long before")
	r.Dispatch("READY", map[string]any{"user": map[string]any{"id": r.Bot.ID, "username": "bot"}, "session_id": "x"}) // the bot was here before
	r.Dispatch("GUILD_CREATE", map[string]any{
		"id": village.ID, "joined_at": time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano), "roles": []any{},
		"channels": []any{map[string]any{"id": well, "type": 0, "name": "well", "last_message_id": m.ID}},
	})
	r.ask(well, "welcome")
	r.answersLast(well, 1, "echo: welcome")
	for _, q := range r.Requests(fmt.Sprintf("GET /channels/%s/messages", well)) {
		check.Lacks(t, "a request", q.Query, "after=")
	}
}

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
		check.Equal(t, c.claim, d.state.audience(c.id), c.want)
	}
	t.Run("an edit of a role or a channel counts", func(t *testing.T) {
		d.updateState("CHANNEL_UPDATE", json.RawMessage(`{"id":"20","type":0,"guild_id":"9","name":"open","permission_overwrites":[{"id":"9","type":0,"allow":"0","deny":"1024"}]}`))
		check.Equal(t, "the result", d.state.audience("20"), channel.Members)
		check.Equal(t, "its thread", d.state.audience("30"), channel.ChannelWide)
		d.updateState("GUILD_ROLE_UPDATE", json.RawMessage(`{"guild_id":"9","role":{"id":"9","name":"@everyone","permissions":"0"}}`))
		check.Equal(t, "the result", d.state.audience("22"), channel.Members)
	})
}

func TestAServerThatChangesHandsHasANewOwner(t *testing.T) {
	t.Parallel()
	d := bot(t)
	d.updateState("GUILD_CREATE", json.RawMessage(`{"id":"9","name":"Town","owner_id":"3","channels":[{"id":"20","type":0,"name":"general"}]}`))
	d.updateState("GUILD_UPDATE", json.RawMessage(`{"id":"9","name":"City","owner_id":"4"}`))
	for user, want := range map[string]bool{"3": false, "4": true} {
		check.Equal(t, user+" owns it", d.state.guild("9").trusts(user, nil), want)
	}
	check.Equal(t, "the label", d.state.label("20"), "#general · City")
}

func TestWhoMayReadIsStoredWithWhatIsSaid(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	memory.In(r.Store).Share(true)
	for n, deny := range []string{"0", "1024"} { // View Channel
		r.Dispatch("GUILD_CREATE", map[string]any{
			"id": r.guild.ID, "roles": []any{map[string]any{"id": r.guild.ID, "name": "@everyone", "permissions": "66560"}},
			"channels": []any{map[string]any{"id": r.square, "type": 0, "name": "square", "permission_overwrites": []any{map[string]any{"id": r.guild.ID, "type": 0, "allow": "0", "deny": deny}}}},
		})
		r.converse("hello", n+1)
		c := check.Must(r.Store.Find(t.Context(), r.place(r.square)))(t)
		_, here, err := memory.Of(c).Shared(t.Context())
		check.NoError(t, err)
		check.Equal(t, "a channel shares its memories where everyone is denied "+deny, here, deny == "0")
	}
}

// FuzzEvent reads any data as each event that carries what people said, as their use of
// a command, or as a button.
func FuzzEvent(f *testing.F) {
	for _, text := range wordstest.Texts() {
		quoted, _ := json.Marshal(text)
		f.Add([]byte(`{"id":"12","channel_id":"20","author":{"id":"3","username":` + string(quoted) + `},"content":` + string(quoted) + `,"attachments":[{"filename":` + string(quoted) + `}],"data":{"name":"forget","custom_id":` + string(quoted) + `,"options":[{"name":"which","value":` + string(quoted) + `}]}}`))
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"id":"1","author":{"id":"3"},"content":"<t:9223372036854775807:R> <t:-99999999999999:R> <@99999999999999999999>","type":19,"referenced_message":{"referenced_message":{}},"message_snapshots":[{}],"poll":{"answers":[{}]},"embeds":[{}],"mentions":[{}]}`))
	f.Add([]byte(`{"id":5,"author":[],"content":{},"member":"x","data":{"name":"memories","custom_id":"page 99999999999999999999 /memories","options":[{"name":"query","value":{"a":1}}]}}`))
	d := bot(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		in, ok := d.inbound(read[message](data), place{Guild: "9"})
		if ok && (in.ID == "" || in.AuthorID == "" || in.AuthorID == "1" || in.Time.IsZero() || !utf8.ValidString(in.Text+in.Author+in.Quote) || in.Text == "" && len(in.Attachments) == 0) {
			t.Fatalf("%q is heard as %+v", data, in)
		}
		i := read[interaction](data)
		check.HasPrefix(t, "a command", i.line(), "/")
		check.That(t, !i.person().Manager || i.Member == nil || i.Member.Permissions != 0, "%q manages", data)
		line, _, ok := parseCustomID(i.Data.CustomID)
		check.That(t, !ok || strings.Contains(i.Data.CustomID, line), "the button %q runs %q", i.Data.CustomID, line)
		_, _, _ = read[deletion](data), read[guildData](data), read[place](data)
	})
}
