// What the bot may send, and what it may do in a channel: permissions, of which denied ones also hide events, and threads,
// which can be archived and locked.

package discordtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/bwmarrin/discordgo"
)

// defaultPermissions are the initial permissions of the bot in each channel.
const defaultPermissions = discordgo.PermissionAddReactions | discordgo.PermissionViewChannel | discordgo.PermissionSendMessages |
	discordgo.PermissionReadMessageHistory | discordgo.PermissionSendMessagesInThreads

// Deny removes permissions of the bot in a channel and its threads.
func (s *Server) Deny(channel string, permissions int64) {
	s.do(func(w *world) {
		c := w.channel(channel)
		if c.Type != discordgo.ChannelTypeGuildText {
			panic("discordtest: only a channel of a guild has permissions: " + channel)
		}
		w.permissions[c.ID] = w.permissionsIn(c) &^ permissions
	})
}

// permissionsIn: threads have those of their parent (Discord, Permissions: Inherited Permissions (Threads)).
func (w *world) permissionsIn(c *discordgo.Channel) int64 {
	at := c.ID
	if c.IsThread() {
		at = c.ParentID
	}
	if has, ok := w.permissions[at]; ok {
		return has
	}
	return defaultPermissions
}

// may: without VIEW_CHANNEL there are none, in direct messages all (Discord, Permissions: Implicit Permissions).
func (w *world) may(c *discordgo.Channel, permission int64) bool {
	has := w.permissionsIn(c)
	return c.Type == discordgo.ChannelTypeDM || has&discordgo.PermissionViewChannel != 0 && has&permission == permission
}

// errPermission is the error for a missing permission other than VIEW_CHANNEL, for which it is 50001 (Discord,
// Opcodes and Status Codes: JSON Error Codes; which of the two is sent is judgement).
var errPermission = &apiError{status: http.StatusForbidden, code: 50013, message: "Missing Permissions"}

// sendable: Discord, Message: Create Message; Permissions: Inherited Permissions (Threads).
func (w *world) sendable(c *discordgo.Channel, p payload) {
	needed := int64(discordgo.PermissionSendMessages)
	if c.IsThread() {
		needed = discordgo.PermissionSendMessagesInThreads
	}
	refuseIf(!w.may(c, needed), errPermission)
	unread := p.Reference != nil && !w.may(c, discordgo.PermissionReadMessageHistory)
	refuseIf(unread, &apiError{status: http.StatusForbidden, code: 160002, message: "Cannot reply without permission to read message history"})
}

func (w *world) announce(c *discordgo.Channel, e event) {
	if w.may(c, discordgo.PermissionViewChannel) {
		w.dispatch(e)
	}
}

// messageEvent announces data about messages of a channel.
func (w *world) messageEvent(c *discordgo.Channel, name string, data map[string]any) {
	data["channel_id"] = c.ID
	if c.GuildID != "" {
		data["guild_id"] = c.GuildID
	}
	w.announce(c, event{name: name, intent: intentOf(c), data: data})
}

func (w *world) deleted(m *Message) {
	if m.Deleted = true; !m.is(discordgo.MessageFlagsEphemeral) {
		w.messageEvent(w.channel(m.ChannelID), "MESSAGE_DELETE", map[string]any{"id": m.ID})
	}
}

// Role adds a role to a guild; Permit assigns it to members.
func (s *Server) Role(guild, name string, permissions int64) (r discordgo.Role) {
	s.do(func(w *world) {
		g := w.guild(guild)
		r = discordgo.Role{ID: w.newID(), Name: name, Permissions: permissions}
		g.Roles = append(g.Roles, &r)
		w.dispatch(event{name: "GUILD_ROLE_CREATE", intent: discordgo.IntentGuilds, data: map[string]any{"guild_id": g.ID, "role": r}})
	})
	return r
}

// rolePermissions returns the combined permissions of a member's roles (Discord, Permissions: Permission Overwrites).
// Owners get no permissions automatically (judgement), so that tests state who is trusted.
func rolePermissions(g *discordgo.Guild, m *discordgo.Member) (all int64) {
	for _, r := range g.Roles {
		if r.ID == g.ID || slices.Contains(m.Roles, r.ID) { // everyone has the role with the guild's id
			all |= r.Permissions
		}
	}
	return all
}

// EnableIntents enables privileged intents in the developer portal.
func (s *Server) EnableIntents(intents discordgo.Intent) {
	s.do(func(w *world) { w.options.Forbidden &^= intents })
}

// Permit sets a member's nickname, role ids and permissions (0: those of the roles). The bot gets GUILD_MEMBER_UPDATE
// if it is the member itself, else only with the intent GUILD_MEMBERS (judgement, from the list of intents).
func (s *Server) Permit(guild, user, nick string, permissions int64, roles ...string) {
	s.do(func(w *world) {
		m := member(w.guild(guild), user)
		m.Nick, m.Permissions, m.Roles = nick, permissions, append([]string{}, roles...)
		e := event{name: "GUILD_MEMBER_UPDATE", intent: discordgo.IntentGuildMembers, data: discordgo.Member{
			GuildID: guild, User: m.User, Nick: nick, Roles: m.Roles, JoinedAt: m.JoinedAt,
		}}
		if user == w.bot.ID {
			e.intent = 0
		}
		w.dispatch(e)
	})
}

// Thread adds a public thread under a channel, started by a user.
func (s *Server) Thread(parent, user, name string) discordgo.Channel {
	return s.addChannel("THREAD_CREATE", func(w *world) *discordgo.Channel {
		meta := &discordgo.ThreadMetadata{AutoArchiveDuration: 4320, ArchiveTimestamp: time.Now().UTC()}
		p := w.channel(parent)
		return &discordgo.Channel{
			Type: discordgo.ChannelTypeGuildPublicThread, GuildID: p.GuildID, ParentID: p.ID, OwnerID: user, Name: name, ThreadMetadata: meta,
		}
	})
}

// Archive archives a thread. A message unarchives it, unless it is locked (Discord, Threads: Active & Archived Threads).
func (s *Server) Archive(thread string, locked bool) {
	s.do(func(w *world) { w.archive(w.channel(thread), true, locked) })
}

func (w *world) archive(c *discordgo.Channel, archived, locked bool) {
	meta := *c.ThreadMetadata
	meta.Archived, meta.Locked, meta.ArchiveTimestamp = archived, locked, time.Now().UTC()
	c.ThreadMetadata = &meta
	w.announce(c, event{name: "THREAD_UPDATE", intent: discordgo.IntentGuilds, data: c})
}

// writable: Discord, Threads: Locked Threads; Opcodes and Status Codes: JSON Error Codes.
func writable(c *discordgo.Channel, edit bool) {
	if !c.IsThread() {
		return
	}
	refuseIf(c.ThreadMetadata.Locked, &apiError{status: http.StatusBadRequest, code: 160005, message: "Thread is locked"})
	refuseIf(c.ThreadMetadata.Archived && edit, &apiError{status: http.StatusBadRequest, code: 50083, message: "Thread is archived"})
}

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
		}
	}
}
