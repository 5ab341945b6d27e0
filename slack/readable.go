// Messages in a form that slack-go cannot decode are reduced to the fields that are needed.

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

// needed are the fields of a message that the connector requires.
var needed = []string{
	"type", "subtype", "channel", "user", "text", "ts", "thread_ts", "parent_user_id", "bot_id", "username", "deleted_ts", "event_ts", "edited",
}

// useful are optional fields, in lists that get shorter: the fewer a list has, the more likely the
// message can be decoded.
var useful = [][]string{
	{"files", "attachments", "metadata", "team", "bot_profile", "reply_count", "latest_reply"},
	{"files", "metadata", "reply_count", "latest_reply"},
	{"attachments", "metadata", "reply_count", "latest_reply"},
	{"metadata", "reply_count", "latest_reply"},
	{},
}

// readable reduces a message until slack-go can decode it. Without that, one message in a new form
// would make its whole history page unreadable.
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

// bare is a message with the needed fields and some more.
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

// withMessages are the methods whose responses contain messages.
var withMessages = []string{"conversations.history", "conversations.replies", "chat.postMessage", "chat.update"}

// plainer makes the messages in responses of the Web API readable.
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

// blankKey is the context key of a *bool that is set if the message which a request posted or
// edited is blank.
type blankKey struct{}

// isBlank reports whether a response has a message, and it is blank.
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

// readableBody returns a response in which every message can be decoded; it drops the content of
// those that cannot.
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
