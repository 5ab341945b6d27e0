// Package access decides who is heard, who is answered, who may run what, and how many model calls and how much money
// that may take. It knows neither conversations nor platforms: ids and names come in, decisions go out.
package access

import (
	"cmp"
	"slices"

	"cairn/chat"
	"cairn/store"
)

// Respond says which messages the bot answers.
type Respond string

// The three ways to respond.
const (
	RespondMention Respond = "mention" // messages addressed to the bot
	RespondAll     Respond = "all"     // all messages; the bot may stay silent on those not addressed to it
	RespondNever   Respond = "never"   // no messages: the bot only listens
)

// Rules say who may do what. They do not change: Control.Renew replaces them.
type Rules struct {
	Respond        func(conversation string) Respond // nil: RespondMention everywhere
	Access         map[string]Access                 // by connector name
	NoTurnLimit    string                            // the connector whose people TurnsPerMinute does not concern; "": none
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

	RespondInThreads Respond `toml:"respond_in_threads" one:"all mention"` // what is answered in threads where the bot was addressed; empty: all

	SearchEverywhere bool     `toml:"search_everywhere"` // in a direct message, people may search all conversations that they may read
	Unsearched       []string `toml:"unsearched"`        // places whose conversations such a search leaves out
}

// Person is someone who talks to the bot.
type Person struct {
	ID      string // assigned by the platform
	Name    string
	Roles   []string // role ids, assigned by the platform
	Manager bool     // the platform gives them management rights here: they may run restricted commands
}

// Typist returns who is noted beside what the person types.
func (p Person) Typist() store.Person { return store.Person{ID: p.ID, Name: cmp.Or(p.Name, p.ID)} }

// Hears reports whether the bot listens to an author in a conversation; bot: the author is a program.
func (r *Rules) Hears(conversation, author string, bot bool) bool {
	place := chat.ParsePlace(conversation)
	return r.in(place).hears(place, author, bot)
}

// RespondIn returns which messages the bot answers in a conversation.
func (r *Rules) RespondIn(conversation string) Respond {
	if r.Respond != nil {
		return r.Respond(conversation)
	}
	return RespondMention
}

// Classify decides whether the bot may answer a message that it heard. Of a bot's messages the store leaves some
// unaddressed, see store.MaxBotTurns.
func (r *Rules) Classify(conversation string, m *store.Inbound) {
	if chat.ParsePlace(conversation).Direct() {
		m.Audience = store.Members // whatever the connector set
	}
	if !r.AnswersInThread(conversation) {
		m.Thread = false
	}
	switch respond := r.RespondIn(conversation); {
	case respond == RespondNever:
		m.Addressed = false
		m.Thread = false
	case m.Bot:
		m.Thread = false
	case respond == RespondAll && !m.Addressed && (chat.ParsePlace(conversation).Thread == "" || r.AnswersInThread(conversation)):
		m.Addressed = true
		m.Optional = true
	}
}

// AnswersInThread reports whether the bot answers, in a thread where it was addressed, what is not addressed to it.
func (r *Rules) AnswersInThread(conversation string) bool {
	return r.in(chat.ParsePlace(conversation)).RespondInThreads != RespondMention
}

// SearchesFrom reports whether people may search other conversations from one.
func (r *Rules) SearchesFrom(conversation string) bool {
	return r.in(chat.ParsePlace(conversation)).SearchEverywhere
}

// Unsearched reports whether searches from other conversations leave one out.
func (r *Rules) Unsearched(conversation string) bool {
	place := chat.ParsePlace(conversation)
	return slices.ContainsFunc([]string{place.Thread, place.Channel, place.Server}, func(id string) bool {
		return id != "" && slices.Contains(r.in(place).Unsearched, id)
	})
}

// Restricts reports whether only managers may run a command; declared: its declaration says so.
func (r *Rules) Restricts(command string, declared bool) bool {
	return r.Restricted == nil && declared || slices.Contains(r.Restricted, command)
}

// NamesManagers reports whether the settings name people who may run the restricted commands on a connector's platform.
func (r *Rules) NamesManagers(connector string) bool {
	a := r.Access[connector]
	return len(a.Owners)+len(a.Managers) > 0
}

// Manages reports whether a person may run the restricted commands in a conversation.
func (r *Rules) Manages(conversation string, who Person) bool {
	return who.Manager || r.in(chat.ParsePlace(conversation)).names(who)
}

// Trusts reports whether a person may decide what costs money or reaches beyond a conversation: in a direct
// message, where everyone has management rights, only the people named in the settings may.
func (r *Rules) Trusts(conversation string, who Person) bool {
	place := chat.ParsePlace(conversation)
	return !place.Direct() || r.in(place).names(who)
}

// Owns reports whether a person may do everything. If the settings name no owners, people with
// management rights on the platform may, but not in a direct message: there everyone has them.
func (r *Rules) Owns(conversation string, who Person) bool {
	place := chat.ParsePlace(conversation)
	owners := r.in(place).Owners
	return slices.Contains(owners, who.ID) || len(owners) == 0 && who.Manager && !place.Direct()
}

func (r *Rules) in(p chat.Place) Access { return r.Access[p.Connector] }

// hears reports whether the bot listens to an author in a place.
func (a Access) hears(p chat.Place, id string, bot bool) bool {
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

// names reports whether the settings name a person as owner or manager.
func (a Access) names(who Person) bool {
	return slices.Contains(a.Owners, who.ID) || slices.Contains(a.Managers, who.ID) ||
		slices.ContainsFunc(who.Roles, func(role string) bool { return slices.Contains(a.Managers, role) })
}
