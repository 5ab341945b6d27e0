// One line of JSON that comes in: what it may hold, and what it means.
package terminal

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"cairn/channel"
)

// request is a line that came in, with what it left out filled in.
type request struct {
	Channel string     `json:"channel"`
	User    string     `json:"user"`
	Text    string     `json:"text"`
	ID      string     `json:"id"`
	Time    *time.Time `json:"time"`
	Mention *bool      `json:"mention"` // absent: true
	DM      bool       `json:"dm"`

	conversation string // full name
	command      string // "stop" and the like, if the text is a command
}

// inbound is the message a request brings. Whoever speaks to the bot alone, or
// mentions it, wants an answer.
func (r request) inbound() channel.Inbound {
	return channel.Inbound{
		ID: r.ID, AuthorID: r.User, Author: r.User, Text: r.Text, Time: *r.Time,
		Addressed: r.DM || r.Mention == nil || *r.Mention,
	}
}

// parse reads a line. With an error, the request holds at most the id and channel
// the line names, for the answer. An empty line is a request without text.
func (p *protocol) parse(in line) (request, error) {
	if in.err != nil {
		return request{}, in.err
	}
	if strings.TrimSpace(in.text) == "" {
		return request{}, nil
	}
	r, err := decode(in.text)
	if err == nil {
		err = p.complete(&r)
	}
	if err != nil {
		var names struct{ Channel, ID string }
		_ = json.Unmarshal([]byte(in.text), &names) // what can be read is good enough to be named
		return request{Channel: names.Channel, ID: names.ID}, err
	}
	return r, nil
}

// decode is strict, for a misspelt key would silently change what a line means.
func decode(text string) (request, error) {
	var r request
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if !bytes.HasPrefix(bytes.TrimSpace([]byte(text)), []byte("{")) {
		return r, errors.New(`a line must be one JSON object, as {"text": "hello"}`)
	}
	err := dec.Decode(&r)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return r, fmt.Errorf("%q must not be a JSON %s", wrong.Field, wrong.Value)
	case err != nil && strings.HasPrefix(err.Error(), "parsing time"):
		return r, errors.New(`"time" must look like "2026-01-31T15:04:05Z"`)
	case err != nil && strings.Contains(err.Error(), "unknown field"):
		return r, fmt.Errorf("%s: there are channel, user, text, id, time, mention and dm", strings.TrimPrefix(err.Error(), "json: "))
	case err != nil:
		return r, fmt.Errorf("this is no JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); err != io.EOF {
		return r, errors.New("something follows the JSON object: one object a line")
	}
	return r, nil
}

// complete checks a request and fills in what it left out.
func (p *protocol) complete(r *request) (err error) {
	if strings.TrimSpace(r.Text) == "" {
		return errors.New(`"text" is missing or empty`)
	}
	if r.Channel == "" {
		r.Channel = p.channel
	}
	if r.conversation, err = Conversation(r.Channel); err != nil {
		return err
	}
	r.Channel = short(r.conversation)
	if r.User == "" {
		r.User = p.user
	}
	if err := checkName("user", r.User); err != nil {
		return err
	}
	if r.ID == "" {
		r.ID = rand.Text()
	} else if err := checkName("message", r.ID); err != nil {
		return fmt.Errorf(`"id": %w`, err)
	}
	if r.Time == nil {
		now := time.Now()
		r.Time = &now
	}
	if year := r.Time.UTC().Year(); year < 1970 || year > 9999 {
		return errors.New(`"time" must lie between 1970 and 9999`)
	}
	r.command = command(r.Text)
	return nil
}

// command returns the name of the command that text is, or "".
func command(text string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	for _, c := range channel.Commands {
		if strings.EqualFold(word, "/"+c.Name) {
			return c.Name
		}
	}
	return ""
}
