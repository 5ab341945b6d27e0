// Reactions, by the real client library.
package discordtest_test

import (
	"io"
	"net/http"
	"testing"

	"cairn/discord/discordtest"
)

func TestReactionsAreJudged(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	m := v.say("hello")
	marks := func() []discordtest.Reaction { return v.Messages(v.channel)[0].Reactions }

	for range 2 { // what is there already is no fault
		if err := s.MessageReactionAdd(v.channel, m.ID, "📚"); err != nil {
			t.Fatal(err)
		}
	}
	if got := marks(); len(got) != 1 || got[0].Emoji.Name != "📚" || got[0].Count != 1 || !got[0].Me {
		t.Errorf("it bears %+v", got)
	}
	refused(t, s.MessageReactionAdd(v.channel, m.ID, "books"), http.StatusNotFound, 10014)
	refused(t, s.MessageReactionAdd(v.channel, v.channel, "📚"), http.StatusNotFound, 10008)

	v.Deny(v.channel, discordtest.PermissionAddReactions)
	refused(t, s.MessageReactionAdd(v.channel, m.ID, "👍"), http.StatusForbidden, 50013)
	if err := s.MessageReactionAdd(v.channel, m.ID, "📚"); err != nil { // one that is there takes no permission
		t.Error(err)
	}
	v.Deny(v.channel, discordtest.PermissionReadMessageHistory)
	refused(t, s.MessageReactionAdd(v.channel, m.ID, "📚"), http.StatusForbidden, 50013)
	v.Grant(v.channel, -1)
	for i := range 19 {
		if err := s.MessageReactionAdd(v.channel, m.ID, string(rune('😀'+i))); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, s.MessageReactionAdd(v.channel, m.ID, "👍"), http.StatusBadRequest, 30010)
	if n := len(marks()); n != 20 {
		t.Errorf("it bears %d", n)
	}
}

func TestAnEmojiMustBeEncoded(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	m := v.say("hello")
	q, err := http.NewRequestWithContext(v.ctx, http.MethodPut, v.URL+"/api/v9/channels/"+v.channel+"/messages/"+m.ID+"/reactions/x/@me", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.URL.Opaque = "//" + q.URL.Host + "/api/v9/channels/" + v.channel + "/messages/" + m.ID + "/reactions/📚/@me" // as it is
	q.Header.Set("Authorization", "Bot token")
	q.Header.Set("User-Agent", "DiscordBot (https://example.com, 1)")
	resp, err := v.Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound || err != nil {
		t.Errorf("HTTP %d, %s, %v", resp.StatusCode, body, err)
	}
}
