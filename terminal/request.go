// One line of JSON input: what it may contain, and what it means.
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

// request is an input line with its defaults filled in.
type request struct {
	Channel string
	User    string
	Text    string
	ID      string
	Time    *time.Time
	Mention *bool // absent: true
	DM      bool

	Compaction map[string]any // settings for the turn that answers it

	with         channel.Patch // what they say
	conversation string        // full name
	command      string        // "stop" and the like, if the text is a command
	urgent       bool          // the command acts at once
}

// commandKey names one command of one conversation; no name holds a NUL.
func (r request) commandKey() string { return r.conversation + "\x00" + r.ID }

// inbound is the message a request brings. One in a direct conversation, or
// with a mention, wants an answer.
func (r request) inbound() channel.Inbound {
	return channel.Inbound{
		ID: r.ID, AuthorID: r.User, Author: r.User, Text: r.Text, Time: *r.Time,
		Addressed: r.DM || r.Mention == nil || *r.Mention, Compaction: r.with,
	}
}

// parse reads a line. With an error, the request holds the id and channel the line
// names, as far as they can be read. An empty line is a request without text.
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
	return r, err
}

// decode reads what a line says. It is strict, for a misspelt key would silently
// change what the line means; encoding/json itself would take "TEXT" for "text".
func decode(text string) (r request, err error) {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return r, errors.New(`a line must be one JSON object, as {"text": "hello"}`)
	}
	var fields map[string]json.RawMessage
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&fields); err != nil {
		return r, fmt.Errorf("this is no JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); err != io.EOF {
		return r, errors.New("something follows the JSON object: one object a line")
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) { // all of them: the answer names id and channel
		if wrong := r.set(key, fields[key]); err == nil {
			err = wrong
		}
	}
	return r, err
}

// set takes the value of one key.
func (r *request) set(key string, value json.RawMessage) error {
	into := map[string]any{
		"channel": &r.Channel, "user": &r.User, "text": &r.Text, "id": &r.ID,
		"time": &r.Time, "mention": &r.Mention, "dm": &r.DM, "compaction": &r.Compaction,
	}[key]
	if into == nil {
		return fmt.Errorf("unknown key %q: there are channel, user, text, id, time, mention, dm and compaction", brief(key))
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

// complete checks a request and fills in its defaults.
func (p *protocol) complete(r *request) (err error) {
	if strings.TrimSpace(r.Text) == "" {
		return errors.New("text is missing or empty")
	}
	if r.conversation, err = Conversation(cmp.Or(r.Channel, p.channel)); err != nil {
		return err
	}
	if r.with, err = channel.PatchOf(r.Compaction); err != nil {
		return err
	}
	r.Channel = short(r.conversation)
	r.User = cmp.Or(r.User, p.user)
	if err := checkName("user", r.User); err != nil {
		return err
	}
	if strings.ContainsRune(r.ID, utf8.RuneError) { // several ids would become one
		return errors.New("id must be valid UTF-8 text: it has something in it that is none, and reads as U+FFFD")
	}
	if r.ID == "" {
		r.ID = rand.Text()
	} else if err := checkName("message", r.ID); err != nil {
		return fmt.Errorf("id: %w", err)
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
		err = errors.New("/quit is for people at a terminal: close the input to leave")
	}
	if err != nil {
		return err
	}
	r.Text, r.command, r.urgent = t.text, t.command, t.urgent
	return nil
}

// maxEcho bounds what is repeated of something that was refused, in bytes.
const maxEcho = 200

// brief is text cut to maxEcho.
func brief(text string) string {
	if len(text) <= maxEcho {
		return text
	}
	return strings.ToValidUTF8(text[:maxEcho], "") + "…"
}
