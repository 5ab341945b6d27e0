// Validation of messages from the bot.
package discordtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf16"
)

// payload is the body of every request that creates or changes a message.
type payload struct {
	Content    *string           `json:"content"`
	Nonce      json.RawMessage   `json:"nonce"`
	Enforce    bool              `json:"enforce_nonce"`
	Allowed    json.RawMessage   `json:"allowed_mentions"`
	Reference  *Reference        `json:"message_reference"`
	Components []json.RawMessage `json:"components"`
	Flags      int               `json:"flags"`

	allow allowed
}

// allowed has the users and roles that may be notified (Discord, Message: Allowed Mentions Object).
type allowed struct {
	Parse       []string `json:"parse"`
	Roles       []string `json:"roles"`
	Users       []string `json:"users"`
	RepliedUser bool     `json:"replied_user"`
}

func (a allowed) permits(kind string, ids []string, id string) bool {
	return slices.Contains(a.Parse, kind) || slices.Contains(ids, id)
}

// The defaults without allowed_mentions (Discord, Message: Default Settings for Allowed Mentions).
var (
	// That a reply notifies the author of the message it answers is judgement.
	allowAll   = allowed{Parse: []string{"users", "roles", "everyone"}, RepliedUser: true}
	allowUsers = allowed{Parse: []string{"users"}, RepliedUser: true}
)

// parsePayload decodes a body and rejects what Discord rejects. An edit may omit or null fields
// that it does not change.
func (w *world) parsePayload(q query, edit bool, fallback allowed) (p payload, err error) {
	if err := q.decode(&p); err != nil {
		return p, err
	}
	return p, w.check(&p, edit, fallback)
}

func (w *world) check(p *payload, edit bool, fallback allowed) error {
	// Discord, Message: Create Message: up to 2000 characters. The page does not define characters;
	// UTF-16 units are the strictest interpretation.
	if p.Content != nil {
		if n := len(utf16.Encode([]rune(*p.Content))); n > 2000 {
			return invalid("content", "BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be 2000 or fewer in length (has %d).", n))
		}
		trimmed := strings.TrimSpace(*p.Content) // judgement: documented for embeds only
		p.Content = &trimmed
	}
	if err := checkComponents(p.Components); err != nil {
		return err
	}
	if err := checkNonce(p.Nonce); err != nil {
		return err
	}
	return w.checkMentions(p, edit, fallback)
}

// empty reports whether there is nothing to show.
func (p *payload) empty() bool {
	text := p.Content != nil && *p.Content != ""
	return !text && len(p.Components) == 0
}

// errEmpty is Discord's error for an empty message.
var errEmpty = &apiError{status: http.StatusBadRequest, code: 50006, message: "Cannot send an empty message"}

// checkNonce: a string or integer of up to 25 characters (Discord, Message: Create Message).
func checkNonce(nonce json.RawMessage) error {
	n := strings.Trim(string(nonce), `"`)
	if n != "null" && len(n) > 25 {
		return invalid("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer in length.")
	}
	return nil
}

// checkMentions rejects null instead of a list, and contradictions (Discord, Message: Allowed
// Mentions Examples).
func (w *world) checkMentions(p *payload, edit bool, fallback allowed) error {
	p.allow = fallback
	given := p.Allowed != nil && (!edit || string(p.Allowed) != "null")
	if !given {
		if w.options.RefusePings && p.Content != nil && *p.Content != "" {
			return invalid("allowed_mentions", "PINGS_REFUSED", "This test wants allowed_mentions with parse [].")
		}
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(p.Allowed, &fields) != nil || fields == nil {
		return invalid("allowed_mentions", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType.")
	}
	if parse, ok := fields["parse"]; ok && string(parse) == "null" {
		return invalid("allowed_mentions", "BASE_TYPE_REQUIRED", "parse: This field is required")
	}
	var a allowed
	if err := json.Unmarshal(p.Allowed, &a); err != nil {
		return invalid("allowed_mentions", "DICT_TYPE_CONVERT", err.Error())
	}
	for _, kind := range a.Parse {
		if !slices.Contains(allowAll.Parse, kind) {
			return invalid("allowed_mentions", "BASE_TYPE_CHOICES", "Value must be one of ('roles', 'users', 'everyone').")
		}
	}
	both := slices.Contains(a.Parse, "users") && len(a.Users) > 0 || slices.Contains(a.Parse, "roles") && len(a.Roles) > 0
	if both {
		return invalid("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", "parse and an id list exclude each other.")
	}
	if max(len(a.Users), len(a.Roles)) > 100 {
		return invalid("allowed_mentions", "BASE_TYPE_MAX_LENGTH", "Must be 100 or fewer in length.")
	}
	if w.options.RefusePings && len(a.Parse)+len(a.Users)+len(a.Roles) > 0 {
		return invalid("allowed_mentions", "PINGS_REFUSED", "This test wants allowed_mentions with parse [].")
	}
	p.allow = a
	return nil
}

// component has the supported fields of a row or a button.
type component struct {
	Type       int         `json:"type"`
	Style      int         `json:"style"`
	Label      string      `json:"label"`
	CustomID   string      `json:"custom_id"`
	URL        string      `json:"url"`
	Components []component `json:"components"`
}

const (
	actionRow  = 1
	button     = 2
	linkButton = 5 // style of a button that requires a URL
)

// checkComponents: up to 5 rows of up to 5 buttons, each with a unique id (Discord, Components:
// Action Row, Button, Custom ID, Legacy Message Component Behavior).
func checkComponents(raw []json.RawMessage) error {
	refuse := func(reason string) error { return invalid("components", "COMPONENT_VALIDATION_FAILED", reason) }
	if len(raw) > 5 {
		return refuse("Must be 5 or fewer rows.")
	}
	seen := map[string]bool{}
	for _, r := range raw {
		var row component
		if err := json.Unmarshal(r, &row); err != nil || row.Type != actionRow {
			return refuse("The first level must be action rows.")
		}
		if n := len(row.Components); n < 1 || n > 5 {
			return refuse("A row has 1 to 5 components.")
		}
		for _, b := range row.Components {
			link := b.Type == button && b.Style == linkButton
			switch {
			case len([]rune(b.Label)) > 80:
				return refuse("A label has at most 80 characters.")
			case link != (b.URL != "") || link == (b.CustomID != "") || len(b.CustomID) > 100:
				return refuse("A component has a custom_id of 1 to 100 characters, or is a link.")
			case !link && seen[b.CustomID]:
				return refuse("Component custom id cannot be duplicated.")
			}
			seen[b.CustomID] = true
		}
	}
	return nil
}
