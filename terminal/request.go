// Input lines in JSON: parsing and validation.
package terminal

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/channel"
)

// request is an input line with defaults applied.
type request struct {
	Channel string
	User    string
	Text    string
	ID      string
	Time    *time.Time
	Mention *bool // absent: true
	DM      bool

	Compaction map[string]any // settings for the turn that answers it

	patch        channel.Patch // parsed Compaction
	conversation string        // full name
	command      string        // "stop", for example, if the text is a command
	immediate    bool          // the command does not wait for earlier lines
}

// commandKey identifies a command within a conversation; names contain no NUL.
func (r request) commandKey() string { return r.conversation + "\x00" + r.ID }

// inbound returns the message of a request. It is addressed to the bot in a direct conversation or
// with a mention.
func (r request) inbound() channel.Inbound {
	return channel.Inbound{
		ID: r.ID, AuthorID: r.User, Author: r.User, Text: r.Text, Time: *r.Time,
		Addressed: r.DM || r.Mention == nil || *r.Mention, Compaction: r.patch,
	}
}

// parse parses a line. After an error, the request has the line's id and channel if they could be
// parsed. An empty line is a request without text.
func (p *protocol) parse(in Line) (request, error) {
	if in.Err != nil {
		return request{}, in.Err
	}
	if strings.TrimSpace(in.Text) == "" {
		return request{}, nil
	}
	r, err := decode(in.Text)
	if err == nil {
		err = p.complete(&r)
	}
	return r, err
}

// decode decodes a line strictly, because a misspelled key would silently change its meaning;
// encoding/json would also accept "TEXT" for "text".
func decode(text string) (r request, err error) {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return r, errors.New(`a line must be one JSON object, as {"text": "hello"}`)
	}
	var fields map[string]json.RawMessage
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&fields); err != nil {
		return r, fmt.Errorf("this is not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); err != io.EOF {
		return r, errors.New("there is text after the JSON object: send one object per line")
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) { // all keys, because the error response contains id and channel
		if wrong := r.set(key, fields[key]); err == nil {
			err = wrong
		}
	}
	return r, err
}

// set decodes the value of one key.
func (r *request) set(key string, value json.RawMessage) error {
	into := map[string]any{
		"channel": &r.Channel, "user": &r.User, "text": &r.Text, "id": &r.ID,
		"time": &r.Time, "mention": &r.Mention, "dm": &r.DM, "compaction": &r.Compaction,
	}[key]
	if into == nil {
		return fmt.Errorf("unknown key %q: there are channel, user, text, id, time, mention, dm and compaction", clipEcho(key))
	}
	err := json.Unmarshal(value, into)
	switch {
	case err == nil:
		return nil
	case key == "time":
		return errors.New("time must be a text like 2026-01-31T15:04:05Z")
	case key == "mention" || key == "dm":
		return fmt.Errorf("%s must be true or false", key)
	case key == "compaction":
		return errors.New(`compaction must be an object, as {"background_threshold": 0.7}`)
	}
	return fmt.Errorf("%s must be a text in quotes", key)
}

// complete validates a request and applies the defaults.
func (p *protocol) complete(r *request) (err error) {
	if strings.TrimSpace(r.Text) == "" {
		return errors.New("text is missing or empty")
	}
	if r.conversation, err = Conversation(cmp.Or(r.Channel, p.channel)); err != nil {
		return err
	}
	if r.patch, err = channel.PatchOf(r.Compaction); err != nil {
		return err
	}
	r.Channel = shortName(r.conversation)
	r.User = cmp.Or(r.User, p.user)
	if err := checkUser(r.User); err != nil {
		return err
	}
	if strings.ContainsRune(r.ID, utf8.RuneError) { // several invalid ids would become the same
		return errors.New("id must be valid UTF-8: it contains bytes that are not, which would become U+FFFD")
	}
	if strings.HasPrefix(r.ID, "cairn:") { // as the results of tasks have
		return errors.New(`id must not begin with "cairn:"`)
	}
	if r.ID == "" {
		r.ID = rand.Text()
	} else if err := checkName("id", r.ID); err != nil {
		return err
	}
	if r.Time == nil {
		now := time.Now()
		r.Time = &now
	}
	if year := r.Time.UTC().Year(); year < 1970 || year > 9999 {
		return errors.New("time must lie between 1970 and 9999")
	}
	t, err := parseTyped(r.Text)
	if t.quit {
		err = errors.New("/quit is for people at a terminal: close the input instead")
	}
	if err != nil {
		return err
	}
	r.Text, r.command, r.immediate = t.text, t.command, t.immediate
	return nil
}

// maxEcho limits rejected input that is repeated in an error, in bytes.
const maxEcho = 200

// clipEcho cuts text to maxEcho.
func clipEcho(text string) string {
	if len(text) <= maxEcho {
		return text
	}
	return strings.ToValidUTF8(text[:maxEcho], "") + "…"
}
