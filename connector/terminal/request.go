// What a line of input says: a command, a message, or the wish to leave. A line in JSON has settings besides.

package terminal

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/channel/report"
)

// request is an input line with defaults applied.
type request struct {
	Channel string `json:"channel"`
	User    string `json:"user"`
	Text    string `json:"text"`
	ID      string `json:"id"`
	Time    string `json:"time"`
	Mention *bool  `json:"mention"` // absent: true
	DM      bool   `json:"dm"`

	Compaction map[string]any `json:"compaction"` // settings for the turn that answers it

	typed                      // parsed Text
	patch        channel.Patch // parsed Compaction
	at           time.Time     // parsed Time
	conversation string        // full name
}

var requestKeys = map[string]bool{
	"channel": true, "user": true, "text": true, "id": true, "time": true, "mention": true, "dm": true, "compaction": true,
}

// commandKey identifies a command within a conversation; names contain no NUL.
func (r request) commandKey() string { return r.conversation + "\x00" + r.ID }

// inbound returns the message of a request. It is addressed to the bot in a direct conversation or with a mention.
func (r request) inbound() channel.Inbound {
	return channel.Inbound{
		ID: r.ID, AuthorID: r.User, Author: r.User, Text: r.text, Time: r.at,
		Addressed: r.DM || r.Mention == nil || *r.Mention, Compaction: r.patch,
	}
}

// parse parses a line. After an error, the request has the line's id and channel if they could be parsed.
func (p *protocol) parse(in Line) (r request, err error) {
	err = in.Err
	if err == nil {
		r, err = decode(in.Text)
	}
	if err == nil {
		err = r.complete(p.channel, p.user)
	}
	return r, err
}

// decode decodes a line. An unknown key is an error, because a misspelled one would silently change
// the line's meaning.
func decode(text string) (r request, err error) {
	dec := json.NewDecoder(strings.NewReader(text))
	err = dec.Decode(&r)
	wrong, unfit := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case unfit && wrong.Field == "":
		return r, errors.New(`a line must be one JSON object, as {"text": "hello"}`)
	case unfit:
		return r, fmt.Errorf("a value of type %s is not accepted for %q", wrong.Value, wrong.Field)
	case err != nil:
		return r, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	case dec.More():
		return r, errors.New("there is text after the JSON object: send one object per line")
	}
	var keys map[string]json.RawMessage
	_ = json.Unmarshal([]byte(text), &keys) // it was decoded before
	for key := range keys {
		if !requestKeys[key] { // the decoder ignores case
			return r, fmt.Errorf("unknown field %q", key)
		}
	}
	return r, nil
}

// complete applies the defaults, and checks all fields.
func (r *request) complete(channel, user string) (err error) {
	if strings.TrimSpace(r.Text) == "" {
		return errors.New("text is missing or empty")
	}
	r.conversation, err = Conversation(cmp.Or(r.Channel, channel))
	if err != nil {
		return err
	}
	r.patch, err = report.PatchOf(r.Compaction)
	if err != nil {
		return err
	}
	r.Channel = shortName(r.conversation)
	r.User = cmp.Or(r.User, user)
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
	r.at = time.Now()
	if r.Time != "" {
		r.at, err = time.Parse(time.RFC3339, r.Time)
		if err != nil {
			return errors.New("time must be a text like 2026-01-31T15:04:05Z")
		}
	}
	if year := r.at.UTC().Year(); year < 1970 || year > 9999 {
		return errors.New("time must lie between 1970 and 9999")
	}
	r.typed, err = parseTyped(r.Text)
	if r.quit {
		return errors.New("/quit is for people at a terminal: close the input instead")
	}
	return err
}

// Message is what a program says in a conversation, with the fields of a line of JSON.
type Message struct {
	Conversation, User, Text, ID string

	Time       string // "": now
	Mention    *bool  // nil: true
	DM         bool
	Compaction map[string]any
}

// Parse returns the message for the bot, or the command that its text is; "": none.
func (m Message) Parse() (in channel.Inbound, command string, err error) {
	r := request{
		Channel: m.Conversation, User: m.User, Text: m.Text, ID: m.ID, Time: m.Time, Mention: m.Mention, DM: m.DM, Compaction: m.Compaction,
	}
	if err := r.complete("", ""); err != nil {
		return in, "", err
	}
	if r.command != "" {
		return in, r.text, nil
	}
	return r.inbound(), "", nil
}

// Escaped returns a text that Parse returns as a message with this text.
func Escaped(text string) string {
	if _, spoken := command.Spoken(text); commandWord(strings.TrimSpace(text)) != "" && !spoken {
		return "/" + strings.TrimSpace(text)
	}
	return text
}

// quitWords leave the chat. They exist only in the terminal, so command.All does not contain them.
var quitWords = []string{"quit", "exit"}

type typed struct {
	text      string // the command or the message, also with the command whose text is a message
	command   string // name of the command; empty for a message
	immediate bool   // the command does not wait for earlier lines
	quit      bool   // the person wants to leave
}

// parseTyped parses a line. "/word" is a command, and an error if it does not exist: otherwise it
// would be sent to the model, at a cost. "//word" is the text "/word"; "/" alone is /help.
func parseTyped(line string) (typed, error) {
	text := strings.TrimSpace(line)
	if text == "/" {
		text = "/help"
	}
	word := commandWord(text)
	if word == "" {
		if escaped, ok := strings.CutPrefix(text, "/"); ok && commandWord(escaped) != "" {
			return typed{text: escaped}, nil
		}
		return typed{text: line}, nil
	}
	if slices.Contains(quitWords, strings.ToLower(word)) {
		return typed{quit: true}, nil
	}
	if _, spoken := command.Spoken(text); spoken {
		return typed{text: text}, nil
	}
	found, err := command.Find(word)
	if err != nil {
		return typed{}, err
	}
	return typed{text: text, command: found.Name, immediate: found.Urgent}, nil
}

// slashWord matches a slash and a word that has only letters and hyphens: "/usr/bin is full" is not a command.
var slashWord = regexp.MustCompile(`^/([\pL-]+)(?:[\s\pZ]|$)`)

// commandWord returns the word of a command at the start of text, else "".
func commandWord(text string) string {
	if found := slashWord.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}
