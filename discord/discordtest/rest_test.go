// The REST API: what it refuses, limits, and how it fails on demand.
package discordtest_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
	"cairn/internal/check"
)

func TestWhatEachRequestMustBring(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	for claim, c := range map[string]struct {
		path   string
		header []string
		status int
	}{
		"the bot's token":                    {"/users/@me", []string{"Authorization", "Bot other"}, 401},
		"the word Bot":                       {"/users/@me", []string{"Authorization", "token"}, 401},
		"a proper user agent":                {"/users/@me", []string{"User-Agent", "curl"}, 403},
		"a snowflake":                        {"/channels/x", nil, 400},
		"a known route":                      {"/nothing", nil, 404},
		"a known channel":                    {"/channels/1", nil, 404},
		"no content type without a body":     {"/users/@me", []string{"Content-Type", "application/json"}, 400},
		"nothing, for the gateway's address": {"/gateway", []string{"Authorization", ""}, 200},
	} {
		check.Equal(t, claim, v.ask("GET", c.path, "", c.header...).StatusCode, c.status)
	}
	v.refused(v.ask("GET", "/channels/{channel}/messages?limit=101", ""), 400, 50035)
	v.refused(v.ask("GET", "/channels/{channel}/messages?before=1&after=2", ""), 400, 50035)
}

func TestMessagesAreJudged(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	text := func(content string) string {
		b, _ := json.Marshal(map[string]string{"content": content})
		return string(b)
	}
	pinned := v.Post(v.channel, v.person.ID, discordtest.Post{Type: 6}).ID
	for claim, c := range map[string]struct {
		body string
		code int // 0: taken
	}{
		"2000 characters":                     {text(strings.Repeat("é", 2000)), 0},
		"2001 characters":                     {text(strings.Repeat("é", 2001)), 50035},
		"1001 characters of two UTF-16 units": {text(strings.Repeat("😀", 1001)), 50035},
		"no content":                          {`{}`, 50006},
		"blank content":                       {text(" \n "), 50006},
		"a null parse":                        {`{"content":"x","allowed_mentions":{"parse":null}}`, 50035},
		"null allowed_mentions":               {`{"content":"x","allowed_mentions":null}`, 50035},
		"a list of allowed_mentions":          {`{"content":"x","allowed_mentions":[]}`, 50035},
		"an unknown kind of mention":          {`{"content":"x","allowed_mentions":{"parse":["all"]}}`, 50035},
		"parse and ids of one kind":           {`{"content":"x","allowed_mentions":{"parse":["users"],"users":["1"]}}`, 50035},
		"an empty parse":                      {`{"content":"x","allowed_mentions":{"parse":[]}}`, 0},
		"a reply to nothing":                  {`{"content":"x","message_reference":{"message_id":"1"}}`, 50035},
		"a reply to nothing that may fail":    {`{"content":"x","message_reference":{"message_id":"1","fail_if_not_exists":false}}`, 0},
		"a reply to the system's message":     {`{"content":"x","message_reference":{"message_id":"` + pinned + `"}}`, 50035},
		"a nonce of 26 characters":            {`{"content":"x","nonce":"` + strings.Repeat("n", 26) + `"}`, 50035},
		"a button without a row":              {`{"content":"x","components":[{"type":2,"custom_id":"a"}]}`, 50035},
		"six buttons in a row":                {`{"content":"x","components":[{"type":1,"components":[` + strings.Repeat(`{"type":2},`, 5) + `{"type":2}]}]}`, 50035},
		"a row with a button":                 {`{"content":"x","components":[{"type":1,"components":[{"type":2,"style":1,"custom_id":"a","label":"A"}]}]}`, 0},
		"two buttons with one id":             {`{"content":"x","components":[{"type":1,"components":[{"type":2,"custom_id":"a"},{"type":2,"custom_id":"a"}]}]}`, 50035},
	} {
		a := v.ask("POST", "/channels/{channel}/messages", c.body)
		if c.code == 0 && a.StatusCode != 200 || c.code != 0 && (a.StatusCode != 400 || a.code != c.code) {
			t.Errorf("%s: HTTP %d, %s", claim, a.StatusCode, a.body)
		}
	}
}

func TestPingsCanBeRefused(t *testing.T) {
	v := newTown(t, discordtest.Options{RefusePings: true})
	path := "/channels/{channel}/messages"
	id := v.post(v.channel, `{"content":"x","allowed_mentions":{"parse":[]}}`)
	v.refused(v.ask("POST", path, `{"content":"x"}`), 400, 50035)
	v.refused(v.ask("PATCH", path+"/"+id, `{"content":"x"}`), 400, 50035)
	v.refused(v.ask("PATCH", path+"/"+id, `{"content":"x","allowed_mentions":{"parse":["users"]}}`), 400, 50035)
}

func TestWhatTheBotMayNotDo(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	const path, hello = "/channels/{channel}/messages", `{"content":"x"}`
	theirs, ours := v.Say(v.channel, v.person.ID, "hello").ID, v.post(v.channel, hello)
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

	emoji := path + "/" + theirs + "/reactions/" + url.PathEscape("📚") + "/@me"
	v.Deny(v.channel, discordgo.PermissionAddReactions)
	v.refused(v.ask("PUT", emoji, ""), 403, 50013)
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

func TestCommandsAreJudged(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	path := "/applications/" + v.Bot.ID + "/commands"
	with := func(options string) string { return `[{"name":"a","description":"x","options":[` + options + `]}]` }
	for claim, bad := range map[string]string{
		"capitals":                     `[{"name":"Help","description":"x"}]`,
		"spaces":                       `[{"name":"a b","description":"x"}]`,
		"no description":               `[{"name":"a"}]`,
		"a description of 101":         `[{"name":"a","description":"` + strings.Repeat("x", 101) + `"}]`,
		"one name twice":               `[{"name":"a","description":"x"},{"name":"a","description":"y"}]`,
		"required after optional":      with(`{"type":3,"name":"b","description":"x"},{"type":3,"name":"c","description":"x","required":true}`),
		"choices and autocomplete":     with(`{"type":3,"name":"b","description":"x","autocomplete":true,"choices":[{"name":"x","value":"x"}]}`),
		"an option of an unknown kind": with(`{"type":99,"name":"b","description":"x"}`),
	} {
		if a := v.ask("PUT", path, bad); a.StatusCode != 400 || a.code != 50035 {
			t.Errorf("%s: HTTP %d, %s", claim, a.StatusCode, a.body)
		}
	}
	v.ask("PUT", path, `[{"name":"a","description":"x"},{"name":"b","description":"x"}]`)
	v.ask("PUT", path, `[{"name":"help","description":"x"}]`)
	if got := v.Commands(); len(got) != 1 || got[0].Name != "help" {
		t.Errorf("registered are %v, want only the last set", got)
	}
}

func TestAnEnforcedNonceIsRememberedForAWhile(t *testing.T) {
	const once = `{"content":"once","nonce":"n-1","enforce_nonce":true}`
	v := newTown(t, discordtest.Options{NonceLife: time.Minute})
	if a, b := v.post(v.channel, once), v.post(v.channel, once); a != b || len(v.Sent(v.channel)) != 1 {
		t.Errorf("the second post is %s, want the first, %s", b, a)
	}
}

func TestRequestsAreLimited(t *testing.T) {
	v := newTown(t, discordtest.Options{GlobalPerSecond: 20})
	for n := 0; ; n++ {
		if a := v.ask("GET", "/users/@me", ""); a.Header.Get("X-RateLimit-Global") == "true" {
			break
		}
		check.Require(t, n <= 1000, "no limit on all routes together")
	}
}
