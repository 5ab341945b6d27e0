// The rig of this package's tests: requests and gateway connections without a library.
package discordtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/goleak"

	"cairn/discord/discordtest"
	"cairn/internal/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is what a test waits for what must come, on a busy machine too.
const patience = 2 * time.Minute

// town is a double with a guild, a channel in it, and one person.
type town struct {
	*discordtest.Server
	t       *testing.T
	person  *discordgo.User
	guild   discordgo.Guild
	channel string
	client  *http.Client
}

func newTown(t *testing.T, o discordtest.Options) *town {
	t.Helper()
	t.Parallel()
	transport := &http.Transport{}
	v := &town{Server: discordtest.New(o), t: t, client: &http.Client{Transport: transport}}
	t.Cleanup(v.Close)
	t.Cleanup(transport.CloseIdleConnections)
	v.person = v.User("ann")
	v.guild = v.Guild("town", v.person)
	v.channel = v.Channel(v.guild.ID, "square").ID
	return v
}

// answer is what a request got.
type answer struct {
	*http.Response
	code int // Discord's own
	body []byte
	err  error // of reading the body
}

// ask makes a request with the bot's token; of a path in brackets, {channel} is the town's.
func (v *town) ask(method, path, body string, header ...string) answer {
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
	resp, err := v.client.Do(q)
	if err != nil {
		return answer{Response: &http.Response{}, err: err}
	}
	defer resp.Body.Close()
	a := answer{Response: resp}
	a.body, a.err = io.ReadAll(resp.Body)
	var said struct{ Code int }
	_ = json.Unmarshal(a.body, &said) // of an answer that is no error
	a.code = said.Code
	return a
}

// post sends a message and returns its id.
func (v *town) post(channel, body string) string {
	v.t.Helper()
	a := v.ask("POST", "/channels/"+channel+"/messages", body)
	var m struct{ ID string }
	check.Require(v.t, a.StatusCode == 200 && json.Unmarshal(a.body, &m) == nil, "HTTP %d, %s", a.StatusCode, a.body)
	return m.ID
}

// refused fails unless a request was refused with this HTTP status and code.
func (v *town) refused(a answer, status, code int) {
	v.t.Helper()
	if a.StatusCode != status || a.code != code {
		v.t.Errorf("HTTP %d, %s, want %d with code %d", a.StatusCode, a.body, status, code)
	}
}

func (v *town) wait(what string, holds func() bool) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	defer cancel()
	if err := v.Wait(ctx, holds); err != nil {
		v.t.Fatalf("waiting for %s: %v", what, err)
	}
}
