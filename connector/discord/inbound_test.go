// How messages, people and places are told in words, also by events that leave something out.

package discord

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/connector/platform"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/wordstest"
)

// unopened is a connector that was never opened, and the events of its only shard.
type unopened struct {
	*Discord
	events *events
}

// bot is a connector that knows a server.
func bot(t testing.TB) unopened {
	t.Helper()
	d := check.Must(New(Options{Token: "token"}))(t)
	d.state.bot.Store(&self{user{ID: "1", Username: "cairn"}, "1"})
	d.state.addGuild(guild{
		ID: "9", Name: "Town", Roles: []role{{ID: "9", Name: "@everyone"}, {ID: "5", Name: "helpers"}},
		Channels: []place{{ID: "20", Name: "general"}}, Members: []member{{User: &user{ID: "1"}, Roles: []string{"5"}}},
	})
	return unopened{d, d.shards.add(channel.Shard{}).events}
}

func TestAMessageIsToldInWords(t *testing.T) {
	type told struct {
		Message             json.RawMessage
		Text, Author, Quote string // Author empty: whoever
	}
	all := map[string]told{"what is long is quoted up to its 1000th character": {
		json.RawMessage(`{"type":19,"content":"translate this","referenced_message":{"author":{"username":"bob"},"content":"` + strings.Repeat("word ", 300) + `"}}`),
		"translate this", "", `bob: "` + strings.Repeat("word ", 199) + `word…"`,
	}}
	check.NoError(t, json.Unmarshal(check.Must(os.ReadFile("testdata/messages.json"))(t), &all))
	for name, c := range all {
		m := read[message](json.RawMessage(`{"id":"1234567890123456789","channel_id":"20","author":{"id":"3","username":"ada","global_name":"Ada L."},` + string(c.Message[1:])))
		in, ok := bot(t).events.translator.inbound(m, place{Guild: "9"})
		check.That(t, ok && in.Text == c.Text && in.Quote == c.Quote && (c.Author == "" || in.Author == c.Author), "%s was described as %+v, %v", name, in, ok)
	}
}

// The title of a post in a forum is often the question.
func TestAPostOfAForumBeginsWithItsTitle(t *testing.T) {
	d := bot(t)
	d.state.add(place{ID: "30", Guild: "9", Parent: "21", Type: discordgo.ChannelTypeGuildPublicThread, Name: "Exit code 137"})
	for fields, want := range map[string]string{
		`"id":"30","channel_id":"30","content":"<@1> any idea?"`: "[post: Exit code 137]\nany idea?",
		`"id":"30","channel_id":"30","content":"<@1> /compact"`:  "/compact", // still a command
		`"id":"31","channel_id":"30","content":"<@1> still?"`:    "still?",
		`"id":"30","channel_id":"20","content":"not its post"`:   "not its post",
	} {
		in, _ := d.events.translator.inbound(read[message](json.RawMessage(`{"author":{"id":"3"},`+fields+`}`)), place{Guild: "9", Parent: "21"})
		check.Equal(t, fields, in.Text, want)
	}
}

func TestWhoIsAddressed(t *testing.T) {
	d := bot(t)
	for fields, want := range map[string]bool{
		`"content":"hello"`:                     false,
		`"content":"@everyone"`:                 false,
		`"content":"<@1> hello"`:                true, // also where mentions are not told
		`"content":"x","mentions":[{"id":"1"}]`: true,
		`"content":"x","mention_roles":["5"]`:   true,
		`"content":"x","mention_roles":["6"]`:   false,
		`"content":"x","type":19,"referenced_message":{"id":"2","author":{"id":"1"}}`: true,
		`"content":"x","type":19,"referenced_message":{"id":"2","author":{"id":"7"}}`: false,
	} {
		m := read[message](json.RawMessage(`{"id":"10","author":{"id":"3","username":"ada"},` + fields + `}`))
		in, ok := d.events.translator.inbound(m, place{Guild: "9"})
		check.That(t, ok && in.Addressed == want, "%s: addressed %v, want %v", fields, in.Addressed, want)
	}
	for _, fields := range []string{
		`"content":"mine","author":{"id":"1"}`, `"content":"joined","type":7,"author":{"id":"3"}`, `"content":"","author":{"id":"3"}`, `"content":"nobody"`,
	} {
		in, ok := d.events.translator.inbound(read[message](json.RawMessage(`{"id":"10",`+fields+`}`)), place{Guild: "9"})
		check.That(t, !ok, "%s was heard as %+v", fields, in)
	}
	for fields, want := range map[string]string{`"author":{"id":"3","bot":true}`: "3", `"author":{"id":"3"},"webhook_id":"99"`: "99"} {
		in, _ := d.events.translator.inbound(read[message](json.RawMessage(`{"id":"10","content":"x",`+fields+`}`)), place{Guild: "9"})
		check.That(t, in.Bot && in.AuthorID == want, "a program was heard as %+v", in)
	}
}

func TestPlacesAndNames(t *testing.T) {
	for want, p := range map[string]place{
		"discord:9/20": {ID: "20", Guild: "9"}, "discord:9/20/30": {ID: "30", Guild: "9", Parent: "20"}, "discord:@me/20": {ID: "20"},
	} {
		got := p.conversation()
		check.Equal(t, "the name", got, want)
		check.That(t, channelID(got) == p.ID && placeOf(got).Guild == p.Guild && placeOf(got).Parent == p.Parent, "%s means %s", got, channelID(got))
	}
	now := time.Now().Truncate(time.Millisecond)
	check.That(t, timeOf(idAt(now)).Equal(now) && newer(idAt(now), idAt(now.Add(-time.Millisecond))), "ids do not order by time")
	check.That(t, !newer("x", "1") && !newer("9", "10"), "ids are ordered as texts")
}

func TestHiddenChannels(t *testing.T) {
	d := bot(t)
	view := bitset(1 << 10)
	for claim, overwrites := range map[string][]overwrite{
		"seen: nothing said":                 nil,
		"hidden: closed to everyone":         {{ID: "9", Deny: view}},
		"seen: open to a role of the bot":    {{ID: "9", Deny: view}, {ID: "5", Allow: view}},
		"seen: open to the bot":              {{ID: "9", Deny: view}, {ID: "1", Allow: view}},
		"hidden: open to others":             {{ID: "9", Deny: view}, {ID: "6", Allow: view}},
		"hidden: closed to the bot":          {{ID: "1", Deny: view}},
		"seen: only writing is closed":       {{ID: "9", Deny: 1 << 11}},
		"hidden: without history for anyone": {{ID: "9", Deny: 1 << 16}},
	} {
		d.state.add(place{ID: "40", Guild: "9", Overwrites: overwrites})
		check.Equal(t, claim, d.state.hidden("40"), strings.HasPrefix(claim, "hidden"))
	}
	check.That(t, !(place{Type: 4}).hasMessages() && (place{Type: 5}).hasMessages(), "a category holds no messages, an announcement channel does")
}

func TestOptions(t *testing.T) {
	for base, want := range map[string]string{
		"": "https://discord.com", "http://localhost:8080": "http://localhost:8080", "http://localhost:8080/": "http://localhost:8080",
		"https://chat.example/discord/": "https://chat.example/discord",
	} {
		d, err := New(Options{Token: "Bot abc", APIBase: base})
		check.That(t, err == nil && d.rest.base == want && d.rest.token == "abc", "api_base %q became %+v, %v", base, d, err)
		_ = d.rest.client.Transport.(platform.Bounded) // what a server answers is read up to a limit
	}
	for _, o := range []Options{{}, {Token: "two words"}, {Token: "x", APIBase: "localhost:8080"}, {Token: "x", APIBase: "ftp://h"}, {Token: "x", APIBase: "http://a:b@h"}} {
		check.That(t, check.ErrorOf(New(o)) != nil, "%+v was taken", o)
	}
}

func TestEditsAndDeletionsReachTheTranscript(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	m := r.Post(r.square, r.ann.ID, discordtest.Post{Content: "teh plan", Files: []discordtest.File{{Name: "a.bin", Data: []byte("x")}}})
	gone := r.Say(r.square, r.ann.ID, "a secret")
	both := []string{r.Say(r.square, r.ann.ID, "one").ID, r.Say(r.square, r.ann.ID, "two").ID}
	name := r.place(r.square)
	r.heard(name, 4)
	r.Dispatch("MESSAGE_UPDATE", map[string]any{"id": m.ID, "channel_id": r.square, "guild_id": r.guild.ID, "embeds": []any{}}) // no edit
	r.Edit(r.square, m.ID, "the plan of <@"+r.ann.ID+">")
	r.Delete(r.square, gone.ID)
	r.Delete(r.square, both...)
	r.converse(r.square, "go on", 1)
	check.EqualAll(t, "the transcript", r.texts(name, 2), []string{"the plan of @ann", "go on"})
	check.Equal(t, "how often the model was asked; edits start no turn", len(r.Model.Requests()), 1)

	update := func(content string) { // a partial one, so that the message has to be read
		r.Drop(1)
		r.Edit(r.square, m.ID, content)
		r.Dispatch("MESSAGE_UPDATE", map[string]any{
			"id": m.ID, "channel_id": r.square, "guild_id": r.guild.ID, "content": content, "edited_timestamp": time.Now().UTC().Format(time.RFC3339Nano),
		})
	}
	update("new")
	r.until("the edit", func() bool { return r.Transcript(name)[0].Text == "new" })
	files := r.Transcript(name)[0].Attachments
	check.That(t, len(files) == 1 && files[0].Name == "a.bin", "the edit left %+v of the files", files)
	r.Fail(discordtest.Fault{Of: "GET /channels/*/messages/*", Status: 429, RetryAfter: time.Hour})
	update("newer")
	r.converse(r.square, "still there?", 2) // no message waits for it
}

func TestAChannelWhoseServerIsNotToldIsNoDirectMessage(t *testing.T) {
	d := bot(t)
	d.events.updateState("CHANNEL_UPDATE", json.RawMessage(`{"id":"20","type":0,"name":"general"}`))
	d.events.updateState("THREAD_CREATE", json.RawMessage(`{"id":"30","type":11,"name":"plans","parent_id":"20"}`))
	d.events.updateState("THREAD_CREATE", json.RawMessage(`{"id":"31","type":11,"name":"plans","parent_id":"21"}`)) // of which nothing is known
	for id, want := range map[string]string{"20": "discord:9/20", "30": "discord:9/20/30", "31": "discord:9/21/31"} {
		check.Equal(t, id+" is called", locate(t.Context(), d.rest, d.state, id, "9").conversation(), want)
	}
	check.Equal(t, "the labels", d.state.label("20")+d.state.label("30"), "#general · Townplans in #general · Town")
}

func TestWhoMayReadAPlace(t *testing.T) {
	const seen = 1<<10 | 1<<16 // View Channel, Read Message History
	d := bot(t)
	d.events.updateState("GUILD_CREATE", json.RawMessage(fmt.Sprintf(`{"id":"9",
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
	d.events.updateState("GUILD_CREATE", json.RawMessage(`{"id":"8","roles":[{"id":"8","name":"@everyone","permissions":"0"}],
		"channels":[{"id":"40","type":0,"name":"for nobody","permission_overwrites":[]},
			{"id":"41","type":0,"name":"for everyone","permission_overwrites":[{"id":"8","type":0,"allow":"66560","deny":"0"}]}]}`))
	for claim, want := range map[string]channel.Audience{ // by the id of the place
		"20: a channel that nothing closes is public":                        channel.ServerWide,
		"21: one that everyone is kept out of is its members'":               channel.Members,
		"22: who is kept out beside does not matter":                         channel.ServerWide,
		"23: of one whose permissions are not told nothing is known":         "",
		"24: one whose past is closed is its members'":                       channel.Members,
		"30: a public thread of a public channel is as public":               channel.ServerWide,
		"31: a private thread never is":                                      channel.Members,
		"32: a public thread of a closed channel is for those who read that": channel.ChannelWide,
		"33: nor is more known of one whose channel is not known":            channel.ChannelWide,
		"34: or is nowhere":                           channel.ChannelWide,
		"40: a server may be closed to begin with":    channel.Members,
		"41: and open one channel":                    channel.ServerWide,
		"77: a place that no event named is nobody's": "",
	} {
		check.Equal(t, claim, d.state.audience(claim[:2]), want)
	}
	d.events.updateState("CHANNEL_UPDATE", json.RawMessage(`{"id":"20","type":0,"guild_id":"9","name":"open","permission_overwrites":[{"id":"9","type":0,"allow":"0","deny":"1024"}]}`))
	check.Equal(t, "an edit of a channel counts", d.state.audience("20"), channel.Members)
	check.Equal(t, "for its thread, too", d.state.audience("30"), channel.ChannelWide)
	d.events.updateState("GUILD_ROLE_UPDATE", json.RawMessage(`{"guild_id":"9","role":{"id":"9","name":"@everyone","permissions":"0"}}`))
	check.Equal(t, "an edit of a role counts", d.state.audience("22"), channel.Members)
}

func TestTheMapFollowsWhatChanges(t *testing.T) {
	d := bot(t)
	d.state.add(place{ID: "21", Guild: "9"})
	for _, e := range []struct{ name, data, want string }{
		{"GUILD_UPDATE", `{"id":"9","name":"City","owner_id":"4"}`, "#general @helpers"},
		{"GUILD_ROLE_UPDATE", `{"guild_id":"9","role":{"id":"5","name":"new name","permissions":"0"}}`, "#general @new name"},
		{"CHANNEL_UPDATE", `{"id":"20","guild_id":"9","type":0,"name":"plaza"}`, "#plaza @new name"},
		{"GUILD_ROLE_DELETE", `{"guild_id":"9","role_id":"5"}`, "#plaza @unknown role"},
		{"GUILD_UPDATE", `{"id":"9","owner_id":"5"}`, "#plaza @unknown role"},
	} {
		d.events.updateState(e.name, json.RawMessage(e.data))
		in, _ := d.events.translator.inbound(read[message](json.RawMessage(`{"id":"10","author":{"id":"3"},"content":"<#20> <@&5>"}`)), place{Guild: "9"})
		check.Equal(t, e.name, in.Text, e.want)
	}
	check.Equal(t, "the label", d.state.label("20"), "#plaza · City")
	check.That(t, d.state.guild("9").trusts("5", nil) && !d.state.guild("9").trusts("4", nil), "the earlier owner is trusted")
	d.events.updateState("CHANNEL_DELETE", json.RawMessage(`{"id":"20","guild_id":"9","type":0}`))
	check.That(t, d.state.place("20").ID == "" && d.state.place("21").ID != "", "another place than the deleted one is gone")
	d.events.updateState("GUILD_DELETE", json.RawMessage(`{"id":"9"}`))
	check.That(t, d.state.place("21").ID == "" && d.state.guild("9").ID == "", "a place or the server is left")
	d.events.updateState("GUILD_CREATE", json.RawMessage(`{"id":"8","roles":[{"id":"6","name":"cairn","tags":{"bot_id":"1"}}]}`))
	check.That(t, d.state.guild("8").hasRole([]string{"6"}), "the role that Discord made for the bot is not the bot's")
}

// FuzzEvent reads any data as each event that carries what people said, as their use of a command, or as a button.
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
		in, ok := d.events.translator.inbound(read[message](data), place{Guild: "9"})
		if ok && (in.ID == "" || in.AuthorID == "" || in.AuthorID == "1" || in.Time.IsZero() || !utf8.ValidString(in.Text+in.Author+in.Quote) || in.Text == "" && len(in.Attachments) == 0) {
			t.Fatalf("%q is heard as %+v", data, in)
		}
		i := read[interaction](data)
		check.HasPrefix(t, "a command", i.line(), "/")
		check.That(t, !i.person().Manager || i.Member == nil || i.Member.Permissions != 0, "%q manages", data)
		line, _, ok := parseCustomID(i.Data.CustomID)
		check.That(t, !ok || strings.Contains(i.Data.CustomID, line), "the button %q runs %q", i.Data.CustomID, line)
		_ = read[deletion](data)
		_ = read[guild](data)
		_ = read[place](data)
	})
}
