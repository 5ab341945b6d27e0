// Messages in a form that slack-go cannot decode lose the fields that are in it.

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

// readable drops the fields of a message that slack-go cannot decode. Without that, one message in
// a new form would make its whole history page unreadable. ok is false if nothing can be read.
func readable(raw json.RawMessage) (form json.RawMessage, m slackgo.Message, ok bool) {
	if json.Unmarshal(raw, &m) == nil {
		return raw, m, true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil, slackgo.Message{}, false
	}
	for key, value := range fields {
		if key == "message" || key == "previous_message" { // of an edit or a deletion
			value, _, _ = readable(value)
		}
		if alone, err := json.Marshal(map[string]json.RawMessage{key: value}); err != nil || json.Unmarshal(alone, new(slackgo.Message)) != nil {
			delete(fields, key)
		} else {
			fields[key] = value
		}
	}
	form, err := json.Marshal(fields)
	m = slackgo.Message{}
	return form, m, err == nil && json.Unmarshal(form, &m) == nil
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
		if fields["message"], _, ok = readable(one); !ok {
			delete(fields, "message")
		}
	}
	var many []json.RawMessage
	if json.Unmarshal(fields["messages"], &many) == nil {
		for i, one := range many {
			var ok bool
			if many[i], _, ok = readable(one); !ok {
				many[i] = json.RawMessage(`{}`) // so that the page is known not to be whole
			}
		}
		if list, err := json.Marshal(many); err == nil {
			fields["messages"] = list
		}
	}
	if whole, err := json.Marshal(fields); err == nil {
		return whole
	}
	return body
}
