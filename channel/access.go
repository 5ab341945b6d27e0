package channel

import (
	"context"
	"slices"
	"time"
)

// Access: whose messages are read, which are answered, and who may run which commands.

// maxBotTurns is the most turns in a row that another program may cause: two bots could answer each other for ever.
const maxBotTurns = 3

// listensTo reports whether the bot listens to this author in a place.
func (a Access) listensTo(p Place, id string, bot bool) bool {
	if bot && !slices.Contains(a.Bots, id) {
		return false
	}
	named := func(list []string) bool {
		return slices.ContainsFunc([]string{id, p.Thread, p.Channel, p.Server}, func(s string) bool {
			return s != "" && slices.Contains(list, s)
		})
	}
	return !named(a.Deny) && (len(a.Allow) == 0 || named(a.Allow) || slices.Contains(a.Owners, id) || bot)
}

// manages reports whether a person may run the restricted commands.
func (a Access) manages(who Person) bool { return who.Manager || a.names(who) }

// names reports whether the settings name a person as owner or manager.
func (a Access) names(who Person) bool {
	return slices.Contains(a.Owners, who.ID) || slices.Contains(a.Managers, who.ID) ||
		slices.ContainsFunc(who.Roles, func(role string) bool { return slices.Contains(a.Managers, role) })
}

// owns reports whether a person may do everything. If the settings name no owners, people with
// management rights on the platform may, but not in a direct message: there everyone has them.
func (a Access) owns(who Person, p Place) bool {
	return slices.Contains(a.Owners, who.ID) || len(a.Owners) == 0 && who.Manager && !p.Direct()
}

func (h *Hub) access(p Place) Access { return h.rules.Load().Access[p.Connector] }

func (h *Hub) respond(conversation string) Respond {
	if respond := h.rules.Load().Respond; respond != nil {
		return respond(conversation)
	}
	return RespondMention
}

// classify applies the rules to a message that was heard: it decides whether the bot answers it.
func (h *Hub) classify(c *conversation, m *Inbound) {
	if ParsePlace(c.name).Direct() {
		m.Audience = Members // whatever the connector set
	}
	respond := h.respond(c.name)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch known := slices.Contains(c.botTurns, m.ID); { // the platform may deliver it again
	case respond == RespondNever:
		m.Addressed, m.Thread = false, false
	case m.Bot:
		m.Thread, m.Addressed = false, m.Addressed && (known || len(c.botTurns) < maxBotTurns)
		if m.Addressed && !known {
			c.botTurns = append(c.botTurns, m.ID)
		}
	case respond == RespondAll && !m.Addressed:
		m.Addressed, m.Optional = true, true
	}
	if !m.Bot {
		c.botTurns = nil
	}
}

// refuse rejects a person's message. In a direct message it explains why, once a day: no one else there can.
func (h *Hub) refuse(name string, m Inbound) {
	place := ParsePlace(name)
	if !place.Direct() || m.Bot {
		return
	}
	first := h.recent.first("hint "+place.Connector+":"+m.AuthorID, 24*time.Hour)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || !first {
		return
	}
	h.owners.Go(func() {
		ctx, cancel := context.WithTimeout(h.ctx, time.Minute)
		defer cancel()
		h.say(ctx, name, "hint-"+m.ID, "I am not set up to talk with you here. Ask the bot's operator.", m.ID)
	})
}

// Respond says which messages the bot answers.
type Respond string

// The three ways to respond.
const (
	RespondMention Respond = "mention" // messages addressed to the bot
	RespondAll     Respond = "all"     // all messages; the bot may stay silent on those not addressed to it
	RespondNever   Respond = "never"   // no messages: the bot only listens
)

// Rules say who may do what.
type Rules struct {
	Respond        func(conversation string) Respond // nil: RespondMention everywhere
	Access         map[string]Access                 // by connector name
	TurnsPerMinute int                               // of one person, across all conversations; 0: no limit
	CallsPerHour   int                               // model calls for one conversation; a quarter is reserved for turns; 0: no limit
	Money          Money                             // what models cost, and how much may be spent
	Restricted     []string                          // names of commands that only managers may run; nil: those declared Restricted
}

// Access says who may use one connector. Ids are the platform's, for servers, channels, threads and
// people alike; no platform uses an id twice.
type Access struct {
	Allow    []string `toml:"allow"`    // if not empty, only people named here, or writing in a place named here, are heard
	Deny     []string `toml:"deny"`     // people named here, or writing in a place named here, are not heard; overrides Allow
	Bots     []string `toml:"bots"`     // ids of programs that are heard; all others are not
	Owners   []string `toml:"owners"`   // ids of people who may do everything
	Managers []string `toml:"managers"` // ids of people and roles who may run the restricted commands, besides those the platform trusts
}
