// How strict the double is over REST: linked into the bot's tests, these cost no program of their own.

package discord

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

type double struct {
	*discordtest.Server
	t       *testing.T
	person  *discordgo.User
	channel string
}

var client = http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func newDouble(t *testing.T, o discordtest.Options) *double {
	t.Helper()
	o.AnswerWithin = cmp.Or(o.AnswerWithin, patience) // a busy machine takes more than Discord's 3 s
	v := &double{Server: discordtest.New(o), t: t}
	t.Cleanup(v.Close)
	v.person = v.User("ann")
	v.channel = v.Channel(v.Guild("town", v.person).ID, "square").ID
	return v
}

type answer struct {
	*http.Response
	code int // Discord's own
	body []byte
}

// ask makes a request with the bot's token; of a path, {channel} is the double's.
func (v *double) ask(method, path, body string, header ...string) answer {
	v.t.Helper()
	path = strings.ReplaceAll(path, "{channel}", v.channel)
	q := check.Must(http.NewRequest(method, v.URL+"/api/v10"+path, bytes.NewBufferString(body)))(v.t)
	q.Header.Set("Authorization", "Bot token")
	q.Header.Set("User-Agent", "DiscordBot (https://example.com, 1)")
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	resp := check.Must(client.Do(q))(v.t)
	defer resp.Body.Close()
	a := answer{Response: resp, body: check.Must(io.ReadAll(resp.Body))(v.t)}
	a.code = read[struct{ Code int }](a.body).Code
	return a
}

func (v *double) post(channel, body string) string {
	v.t.Helper()
	a := v.ask("POST", "/channels/"+channel+"/messages", body)
	check.Require(v.t, a.StatusCode == 200, "HTTP %d, %s", a.StatusCode, a.body)
	return read[message](a.body).ID
}

// refused fails unless a request was refused with this HTTP status and code.
func (v *double) refused(a answer, status, code int) {
	v.t.Helper()
	check.That(v.t, a.StatusCode == status && a.code == code, "HTTP %d, %s, want %d with code %d", a.StatusCode, a.body, status, code)
}

func TestRequestsAreJudged(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{RefusePings: true})
	for claim, request := range map[string][]string{ // its path and headers
		"401 without the bot's token":               {"/users/@me", "Authorization", "Bot other"},
		"401 without the word Bot":                  {"/users/@me", "Authorization", "token"},
		"403 without a proper user agent":           {"/users/@me", "User-Agent", "curl"},
		"400 without a snowflake":                   {"/channels/x"},
		"404 for an unknown route":                  {"/nothing"},
		"404 for an unknown channel":                {"/channels/1"},
		"400 for a content type without a body":     {"/users/@me", "Content-Type", "application/json"},
		"400 for more than 100 messages":            {"/channels/{channel}/messages?limit=101"},
		"400 for before and after":                  {"/channels/{channel}/messages?before=1&after=2"},
		"200 without a token, for the gateway only": {"/gateway", "Authorization", ""},
	} {
		check.HasPrefix(t, "what is expected", claim, fmt.Sprint(v.ask("GET", request[0], "", request[1:]...).StatusCode))
	}
	path := "/channels/{channel}/messages" // pings are refused
	edit := path + "/" + v.post(v.channel, `{"content":"x","allowed_mentions":{"parse":[]}}`)
	v.refused(v.ask("POST", path, `{"content":"x"}`), 400, 50035)
	v.refused(v.ask("POST", path, `{"content":"x","allowed_mentions":{"parse":[],"replied_user":true}}`), 400, 50035)
	v.refused(v.ask("PATCH", edit, `{"content":"x"}`), 400, 50035)
	v.refused(v.ask("PATCH", edit, `{"content":"x","allowed_mentions":{"parse":["users"]}}`), 400, 50035)
	limited := false
	for n := 0; n < 200 && !limited; n++ {
		limited = v.ask("GET", "/users/@me", "").Header.Get("X-RateLimit-Global") == "true"
	}
	check.That(t, limited, "no limit on all routes together")
}

func TestMessagesAreJudged(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{GlobalPerSecond: 1000})
	text := func(content string) string { return `{"content":"` + content + `"}` }
	pinned := v.Post(v.channel, v.person.ID, discordtest.Post{Type: 6}).ID
	row := func(buttons string) string {
		return `{"content":"x","components":[{"type":1,"components":[` + buttons + `]}]}`
	}
	for claim, body := range map[string]string{ // by Discord's code
		"50035: 2001 characters":                     text(strings.Repeat("é", 2001)),
		"50035: 1001 characters of two UTF-16 units": text(strings.Repeat("😀", 1001)),
		"50006: no content":                          `{}`,
		"50006: blank content":                       text(` \n `),
		"50035: a null parse":                        `{"content":"x","allowed_mentions":{"parse":null}}`,
		"50035: null allowed_mentions":               `{"content":"x","allowed_mentions":null}`,
		"50035: a list of allowed_mentions":          `{"content":"x","allowed_mentions":[]}`,
		"50035: an unknown kind of mention":          `{"content":"x","allowed_mentions":{"parse":["all"]}}`,
		"50035: parse and ids of one kind":           `{"content":"x","allowed_mentions":{"parse":["users"],"users":["1"]}}`,
		"50035: a reply to nothing":                  `{"content":"x","message_reference":{"message_id":"1"}}`,
		"50035: a reply to the system's message":     `{"content":"x","message_reference":{"message_id":"` + pinned + `"}}`,
		"50035: a nonce of 26 characters":            `{"content":"x","nonce":"` + strings.Repeat("n", 26) + `"}`,
		"50035: a button without a row":              `{"content":"x","components":[{"type":2,"custom_id":"a"}]}`,
		"50035: six buttons in a row":                row(strings.Repeat(`{"type":2},`, 5) + `{"type":2}`),
		"50035: two buttons with one id":             row(`{"type":2,"custom_id":"a"},{"type":2,"custom_id":"a"}`),
	} {
		a := v.ask("POST", "/channels/{channel}/messages", body)
		check.That(t, a.StatusCode == 400 && strings.HasPrefix(claim, fmt.Sprint(a.code)), "%s: HTTP %d, %s", claim, a.StatusCode, a.body)
	}
}

func TestWhatTheBotMayNotDo(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{})
	const path, hello = "/channels/{channel}/messages", `{"content":"x"}`
	theirs := v.Say(v.channel, v.person.ID, "hello").ID
	ours := v.post(v.channel, hello)
	thread := v.Thread(v.channel, v.person.ID, "aside").ID
	aside := v.post(thread, hello)
	v.refused(v.ask("PATCH", path+"/"+theirs, hello), 403, 50005)
	v.refused(v.ask("DELETE", path+"/"+theirs, ""), 403, 50013)
	v.refused(v.ask("PATCH", path+"/"+ours, `{"content":""}`), 400, 50006)
	v.refused(v.ask("PUT", path+"/"+theirs+"/reactions/books/@me", ""), 404, 10014)
	v.Archive(thread, false)
	v.refused(v.ask("PATCH", "/channels/"+thread+"/messages/"+aside, hello), 400, 50083)
	v.post(thread, hello) // which makes it active again
	v.Archive(thread, true)
	v.refused(v.ask("POST", "/channels/"+thread+"/messages", hello), 400, 160005)

	v.Deny(v.channel, discordgo.PermissionAddReactions)
	v.refused(v.ask("PUT", path+"/"+theirs+"/reactions/"+url.PathEscape("📚")+"/@me", ""), 403, 50013)
	v.Deny(v.channel, discordgo.PermissionSendMessages)
	v.refused(v.ask("POST", path, hello), 403, 50013)
	v.refused(v.ask("POST", "/channels/{channel}/typing", ""), 403, 50013)
	v.Deny(v.channel, discordgo.PermissionReadMessageHistory)
	v.refused(v.ask("GET", path+"/"+theirs, ""), 403, 50013)
	check.Equal(t, "the history", string(v.ask("GET", path, "").body), "[]")
	v.Deny(v.channel, discordgo.PermissionViewChannel)
	v.refused(v.ask("POST", path, hello), 403, 50001)
	v.refused(v.ask("GET", "/channels/"+thread, ""), 403, 50001)
}

func TestPermissionsAreComputed(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{GlobalPerSecond: 1000})
	guild := v.Guild("village", v.person)
	v.channel = v.Channel(guild.ID, "well").ID
	locked := v.Thread(v.channel, v.person.ID, "aside").ID
	v.Archive(locked, true)
	const path, hello = "/channels/{channel}/messages", `{"content":"x"}`
	const send, all = discordgo.PermissionSendMessages, discordgo.PermissionViewChannel | discordgo.PermissionSendMessages
	helper := v.Role(guild.ID, "helper", discordgo.PermissionManageThreads|all)
	v.SetRole(guild.ID, guild.ID, discordgo.PermissionViewChannel)
	v.refused(v.ask("POST", path, hello), 403, 50013) // everyone lacks it
	v.Permit(guild.ID, v.Bot.ID, "", 0, helper.ID)
	v.post(v.channel, hello)
	v.Deny(v.channel, send) // the bot's own overwrite is above its roles
	v.refused(v.ask("POST", path, hello), 403, 50013)
	v.Allow(v.channel, send|discordgo.PermissionSendMessagesInThreads)
	v.post(v.channel, hello)
	v.post(locked, hello) // with Manage Threads
	v.Deny(v.channel, discordgo.PermissionSendMessagesInThreads)
	v.refused(v.ask("POST", "/channels/"+locked+"/messages", hello), 403, 50013)
	v.TimeOut(guild.ID, time.Now().Add(time.Hour))
	v.refused(v.ask("POST", path, hello), 403, 50013)
	v.TimeOut(guild.ID, time.Now().Add(-time.Hour))
	v.post(v.channel, hello)
	check.Contains(t, "the guild's roles", string(v.ask("GET", "/guilds/"+guild.ID, "").body), helper.ID)
	check.Contains(t, "the guild's channels", string(v.ask("GET", "/guilds/"+guild.ID+"/channels", "").body), v.channel)
	check.Contains(t, "the bot's roles", string(v.ask("GET", "/guilds/"+guild.ID+"/members/"+v.Bot.ID, "").body), helper.ID)
}

func TestCommandsAreJudged(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{})
	with := func(options string) string { return `[{"name":"a","description":"x","options":[` + options + `]}]` }
	for _, bad := range []string{
		`[{"name":"Help","description":"x"}]`,
		`[{"name":"a b","description":"x"}]`,
		`[{"name":"a"}]`,
		`[{"name":"a","description":"` + strings.Repeat("x", 101) + `"}]`,
		`[{"name":"a","description":"x"},{"name":"a","description":"y"}]`,
		with(`{"type":3,"name":"b","description":"x"},{"type":3,"name":"c","description":"x","required":true}`),
		with(`{"type":3,"name":"b","description":"x","autocomplete":true,"choices":[{"name":"x","value":"x"}]}`),
		with(`{"type":99,"name":"b","description":"x"}`),
	} {
		v.refused(v.register(bad), 400, 50035)
	}
	v.register(`[{"name":"help","description":"x","options":[{"type":3,"name":"topic","description":"x","autocomplete":true}]}]`)
	i := v.Slash(v.channel, v.person.ID, "help")
	v.refused(v.ask("PATCH", v.webhook(i)+"/messages/@original", `{"content":"too early"}`), 404, 10015)
	v.refused(v.callback(i, `{"type":5,"data":{"flags":4}}`), 400, 50035)
	v.callback(i, `{"type":5}`)
	v.refused(v.callback(i, deferred), 400, 40060)
	v.ask("POST", v.webhook(i), `{"content":"done","flags":64}`) // a follow-up completes a deferral
	is := v.Interaction(i.ID)
	sent := v.Sent(v.channel)
	check.That(t, is.Answer != nil && len(is.Followups) == 0 && len(sent) == 1 && sent[0].Flags == 0, "%+v with %+v", is, sent)

	i = v.Autocomplete(v.channel, v.person.ID, "help", discordtest.Option{Name: "topic", Value: "c", Focused: true})
	choices := func(n int) string {
		return `{"type":8,"data":{"choices":[` + strings.Repeat(`{"name":"cats","value":"cats"},`, n-1) + `{"name":"cats","value":"cats"}]}}`
	}
	v.refused(v.callback(i, deferred), 400, 50035)
	v.refused(v.callback(i, choices(26)), 400, 50035)
}

const deferred = `{"type":5,"data":{"flags":64}}`

func (v *double) register(commands string) answer {
	return v.ask("PUT", "/applications/"+v.Bot.ID+"/commands", commands)
}

func (v *double) callback(i discordtest.Interaction, body string) answer {
	return v.ask("POST", "/interactions/"+i.ID+"/"+i.Token+"/callback", body)
}

func (v *double) webhook(i discordtest.Interaction) string {
	return "/webhooks/" + v.Bot.ID + "/" + i.Token
}

func TestInteractionsExpire(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{TokenLife: time.Nanosecond})
	v.register(`[{"name":"help","description":"x"}]`)
	i := v.Slash(v.channel, v.person.ID, "help")
	v.callback(i, deferred)
	v.refused(v.ask("PATCH", v.webhook(i)+"/messages/@original", `{"content":"x"}`), 401, 50027)
	v = newDouble(t, discordtest.Options{AnswerWithin: time.Nanosecond})
	v.register(`[{"name":"help","description":"x"}]`)
	v.refused(v.callback(v.Slash(v.channel, v.person.ID, "help"), deferred), 404, 10062)
}
