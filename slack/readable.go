// Messages that slack-go cannot decode are reduced to the fields that it can.

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

	"cairn/internal/platform"
)

// readable drops the fields of a message that slack-go cannot decode: otherwise one message in a
// new form would make its whole history page unreadable. ok is false if nothing can be decoded.
func readable(raw json.RawMessage) (cleaned json.RawMessage, m slackgo.Message, ok bool) {
	if json.Unmarshal(raw, &m) == nil {
		return raw, m, true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil, slackgo.Message{}, false
	}
	for key, value := range fields {
		if key == "message" || key == "previous_message" { // in the event of an edit or a deletion
			value, _, _ = readable(value)
		}
		if alone, err := json.Marshal(map[string]json.RawMessage{key: value}); err != nil || json.Unmarshal(alone, new(slackgo.Message)) != nil {
			delete(fields, key)
		} else {
			fields[key] = value
		}
	}
	cleaned, err := json.Marshal(fields)
	m = slackgo.Message{}
	return cleaned, m, err == nil && json.Unmarshal(cleaned, &m) == nil
}

// messageMethods are the methods whose responses contain messages.
var messageMethods = []string{"conversations.history", "conversations.replies", "chat.postMessage", "chat.update"}

// readableTransport makes the messages in responses of the Web API readable.
type readableTransport struct{ platform.Bounded }

func (p readableTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := p.Bounded.RoundTrip(r)
	if err != nil || a.StatusCode != http.StatusOK || !slices.Contains(messageMethods, path.Base(r.URL.Path)) {
		return a, err
	}
	body, err := io.ReadAll(a.Body)
	a.Body.Close()
	if err != nil {
		return nil, err
	}
	if blank, ok := r.Context().Value(blankKey{}).(*bool); ok {
		*blank = isBlank(body)
	}
	body = readableBody(body)
	a.Body, a.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return a, nil
}

// blankKey is the context key of a *bool that reports whether the message that a request posted or edited is blank.
type blankKey struct{}

// isBlank reports whether a response contains a message that is blank.
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

// readableBody returns a response in which every message of a history can be decoded: it drops fields that
// cannot be, or all fields of a message if need be. Of a message that was posted slack-go returns nothing.
func readableBody(body []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return body
	}
	delete(fields, "message")
	var many []json.RawMessage
	if json.Unmarshal(fields["messages"], &many) == nil && many != nil {
		for i, one := range many {
			var ok bool
			if many[i], _, ok = readable(one); !ok {
				many[i] = json.RawMessage(`{}`) // without a ts, so that History knows the page is incomplete
			}
		}
		fields["messages"], _ = json.Marshal(many) // valid JSON can always be encoded, here and below
	}
	cleaned, _ := json.Marshal(fields)
	return cleaned
}
