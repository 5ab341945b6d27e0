// What the bot may send: the JSON of messages, with its limits.

package discordtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/bwmarrin/discordgo"
)

type payload struct {
	Content    *string                     `json:"content"`
	Nonce      json.RawMessage             `json:"nonce"`
	Enforce    bool                        `json:"enforce_nonce"`
	Allowed    json.RawMessage             `json:"allowed_mentions"`
	Reference  *discordgo.MessageReference `json:"message_reference"`
	Components []json.RawMessage           `json:"components"`
	Flags      discordgo.MessageFlags      `json:"flags"`

	allow discordgo.MessageAllowedMentions
}

// The defaults without allowed_mentions (Discord, Message: Default Settings for Allowed Mentions).
var (
	// That a reply notifies the author of the message it answers is judgement.
	allowAll   = discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{"users", "roles", "everyone"}, RepliedUser: true}
	allowUsers = discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{"users"}, RepliedUser: true}
)

// parsePayload decodes a body and rejects what Discord rejects. An edit may omit or null fields that it does not change.
func (w *world) parsePayload(q query, edit bool, fallback discordgo.MessageAllowedMentions) (p payload) {
	q.decode(&p)
	// Discord, Message: Create Message: up to 2000 characters. The page does not define characters;
	// UTF-16 units are the strictest interpretation.
	if p.Content != nil {
		n := len(utf16.Encode([]rune(*p.Content)))
		refuseIf(n > 2000, invalid("content", "BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be 2000 or fewer in length (has %d).", n)))
		trimmed := strings.TrimSpace(*p.Content) // judgement: documented for embeds only
		p.Content = &trimmed
	}
	checkComponents(p.Components)
	checkNonce(p.Nonce)
	w.checkMentions(&p, edit, fallback)
	return p
}

func (p *payload) empty() bool {
	text := p.Content != nil && *p.Content != ""
	return !text && len(p.Components) == 0
}

// errEmpty is Discord's error for an empty message.
var errEmpty = &apiError{status: http.StatusBadRequest, code: 50006, message: "Cannot send an empty message"}

// errPings is the error of Options.RefusePings.
var errPings = invalid("allowed_mentions", "PINGS_REFUSED", "This test wants allowed_mentions with parse [].")

// checkNonce: a string or integer of up to 25 characters (Discord, Message: Create Message).
func checkNonce(nonce json.RawMessage) {
	n := strings.Trim(string(nonce), `"`)
	refuseIf(n != "null" && len(n) > 25, invalid("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer in length."))
}

// checkMentions rejects null instead of a list, and contradictions (Discord, Message: Allowed Mentions Examples).
func (w *world) checkMentions(p *payload, edit bool, fallback discordgo.MessageAllowedMentions) {
	p.allow = fallback
	given := p.Allowed != nil && (!edit || string(p.Allowed) != "null")
	if !given {
		refuseIf(w.options.RefusePings && p.Content != nil && *p.Content != "", errPings)
		return
	}
	var fields map[string]json.RawMessage
	refuseIf(json.Unmarshal(p.Allowed, &fields) != nil || fields == nil, invalid("allowed_mentions", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType."))
	refuseIf(string(fields["parse"]) == "null", invalid("allowed_mentions", "BASE_TYPE_REQUIRED", "parse: This field is required"))
	var a discordgo.MessageAllowedMentions
	refuseIf(json.Unmarshal(p.Allowed, &a) != nil, invalid("allowed_mentions", "DICT_TYPE_CONVERT", "Lists of strings are expected."))
	for _, kind := range a.Parse {
		refuseIf(!slices.Contains(allowAll.Parse, kind), invalid("allowed_mentions", "BASE_TYPE_CHOICES", "Value must be one of ('roles', 'users', 'everyone')."))
	}
	both := slices.Contains(a.Parse, "users") && len(a.Users) > 0 || slices.Contains(a.Parse, "roles") && len(a.Roles) > 0
	refuseIf(both, invalid("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", "parse and an id list exclude each other."))
	refuseIf(max(len(a.Users), len(a.Roles)) > 100, invalid("allowed_mentions", "BASE_TYPE_MAX_LENGTH", "Must be 100 or fewer in length."))
	refuseIf(w.options.RefusePings && (len(a.Parse)+len(a.Users)+len(a.Roles) > 0 || a.RepliedUser), errPings)
	p.allow = a
}

type component struct {
	Type       discordgo.ComponentType `json:"type"`
	Style      discordgo.ButtonStyle   `json:"style"`
	Label      string                  `json:"label"`
	CustomID   string                  `json:"custom_id"`
	URL        string                  `json:"url"`
	Components []component             `json:"components"`

	Placeholder string         `json:"placeholder"` // of a menu
	Options     []selectOption `json:"options"`
}

type selectOption struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// checkComponents: Discord, Components: Action Row, Button, Custom ID, Legacy Message Component Behavior.
func checkComponents(raw []json.RawMessage) {
	wrong := func(reason string) *apiError { return invalid("components", "COMPONENT_VALIDATION_FAILED", reason) }
	refuseIf(len(raw) > 5, wrong("Must be 5 or fewer rows."))
	seen := map[string]bool{}
	for _, r := range raw {
		var row component
		refuseIf(json.Unmarshal(r, &row) != nil || row.Type != discordgo.ActionsRowComponent, wrong("The first level must be action rows."))
		n := len(row.Components)
		refuseIf(n < 1 || n > 5, wrong("A row has 1 to 5 components."))
		for _, b := range row.Components {
			link := b.Type == discordgo.ButtonComponent && b.Style == discordgo.LinkButton
			refuseIf(len([]rune(b.Label)) > 80, wrong("A label has at most 80 characters."))
			identified := link == (b.URL != "") && link != (b.CustomID != "") && len(b.CustomID) <= 100
			refuseIf(!identified, wrong("A component has a custom_id of 1 to 100 characters, or is a link."))
			refuseIf(!link && seen[b.CustomID], wrong("Component custom id cannot be duplicated."))
			seen[b.CustomID] = true
			refuseIf(b.Type == discordgo.SelectMenuComponent && n > 1, wrong("A menu is alone in its row."))
			refuseIf(b.Type == discordgo.SelectMenuComponent && !validMenu(b), wrong("A menu has 1 to 25 options with a label and a value of their own."))
		}
	}
}

// validMenu: Discord, Components: String Select, Select Option Structure.
func validMenu(m component) bool {
	seen := map[string]bool{}
	for _, o := range m.Options {
		fits := len([]rune(o.Label)) <= 100 && len([]rune(o.Value)) <= 100
		if o.Label == "" || o.Value == "" || !fits || seen[o.Value] {
			return false
		}
		seen[o.Value] = true
	}
	return len(m.Options) >= 1 && len(m.Options) <= 25 && len([]rune(m.Placeholder)) <= 150
}
