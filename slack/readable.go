// Messages in a form that slack-go does not know: what is needed of them is read.

package slack

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"
)

// needed is what the connector cannot do without in a message.
var needed = []string{
	"type", "subtype", "channel", "user", "text", "ts", "thread_ts", "parent_user_id", "bot_id", "username", "deleted_ts", "event_ts", "edited",
}

// useful is what it uses besides; the fewer the list names, the surer it can be read.
var useful = [][]string{
	{"files", "attachments", "metadata", "team", "bot_profile", "reply_count", "latest_reply"},
	{"files", "metadata", "reply_count", "latest_reply"},
	{"attachments", "metadata", "reply_count", "latest_reply"},
	{"metadata", "reply_count", "latest_reply"},
	{},
}

// readable returns a message in a form that slack-go reads: as it is, or with as much
// left out as need be. One message in a new form would cost the whole page of a
// history, and every page after it.
func readable(raw json.RawMessage) (form json.RawMessage, m slackgo.Message, ok bool) {
	if json.Unmarshal(raw, &m) == nil {
		return raw, m, true
	}
	for _, more := range useful {
		form, m = bare(raw, more), slackgo.Message{}
		if json.Unmarshal(form, &m) == nil {
			return form, m, true
		}
	}
	return nil, slackgo.Message{}, false
}

// bare is a message with what is needed of it, and with more.
func bare(raw json.RawMessage, more []string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	kept := make(map[string]json.RawMessage)
	for key, value := range fields {
		switch {
		case key == "message" || key == "previous_message": // of an edit or a deletion
			kept[key] = bare(value, more)
		case slices.Contains(needed, key) || slices.Contains(more, key):
			kept[key] = value
		}
	}
	form, err := json.Marshal(kept)
	if err != nil {
		return raw
	}
	return form
}

// withMessages are the methods whose answers hold messages, which may be anybody's.
var withMessages = []string{"conversations.history", "conversations.replies", "chat.postMessage", "chat.update"}

// plainer makes the messages in answers of the Web API readable.
type plainer struct{ http.RoundTripper }

func (p plainer) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := p.RoundTripper.RoundTrip(r)
	if err != nil || a.StatusCode != http.StatusOK || !slices.Contains(withMessages, path.Base(r.URL.Path)) {
		return a, err
	}
	body, err := io.ReadAll(a.Body)
	a.Body.Close()
	if err != nil {
		return nil, err
	}
	body = readableBody(body)
	if blank, ok := r.Context().Value(blankKey{}).(*bool); ok {
		*blank = isBlank(body)
	}
	a.Body, a.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return a, nil
}

// blankKey is the context's key of a *bool, which is set if the message that a request
// posted or edited says nothing.
type blankKey struct{}

// isBlank reports whether an answer has a message, and that says nothing.
func isBlank(body []byte) bool {
	var answer struct {
		OK      bool `json:"ok"`
		Message *struct {
			Text        *string           `json:"text"`
			Blocks      []json.RawMessage `json:"blocks"`
			Attachments []json.RawMessage `json:"attachments"`
		} `json:"message"`
	}
	if json.Unmarshal(body, &answer) != nil || !answer.OK || answer.Message == nil {
		return false
	}
	m := answer.Message
	return m.Text != nil && strings.TrimSpace(*m.Text) == "" && len(m.Blocks)+len(m.Attachments) == 0
}

// readableBody is an answer in which every message can be read. Of what cannot be
// nothing is left.
func readableBody(body []byte) []byte {
	var messages struct {
		One  *slackgo.Message  `json:"message"`
		Many []slackgo.Message `json:"messages"`
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &messages) == nil || json.Unmarshal(body, &fields) != nil {
		return body
	}
	if one, ok := fields["message"]; ok {
		if form, _, ok := readable(one); ok {
			fields["message"] = form
		} else {
			delete(fields, "message")
		}
	}
	var many, kept []json.RawMessage
	if json.Unmarshal(fields["messages"], &many) == nil {
		for _, one := range many {
			if form, _, ok := readable(one); ok {
				kept = append(kept, form)
			} else {
				kept = append(kept, json.RawMessage(`{}`)) // so that the page is known not to be whole
			}
		}
		if list, err := json.Marshal(kept); err == nil {
			fields["messages"] = list
		}
	}
	if whole, err := json.Marshal(fields); err == nil {
		return whole
	}
	return body
}
