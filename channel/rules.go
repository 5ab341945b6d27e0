package channel

// Respond says which messages are answered.
type Respond string

// The three ways to respond.
const (
	RespondMention Respond = "mention" // what is addressed to the bot
	RespondAll     Respond = "all"     // everything; what is not addressed to the bot it may pass over in silence
	RespondNever   Respond = "never"   // nothing: the bot only listens
)

// Rules say who may do what.
type Rules struct {
	Respond        func(conversation string) Respond // nil: RespondMention everywhere
	Access         map[string]Access                 // by the connector's name
	TurnsPerMinute int                               // of one person, in all conversations together; 0: no limit
	CallsPerHour   int                               // of models, for one conversation: a quarter is kept for turns; 0: no limit
	Money          Money                             // what models cost and may cost
	Restricted     []string                          // names of commands that only managers run; nil: those that are declared so
}

// Access says who may use one connector. Ids are the platform's, of servers, channels,
// threads and people alike; no platform uses one twice.
type Access struct {
	Allow    []string // if not empty, only who is named here or speaks in a place named here is heard
	Deny     []string // who is named here, or speaks in a place named here, is not heard; it goes before Allow
	Bots     []string // ids of programs that are heard; others are not
	Owners   []string // ids of those who may do everything
	Managers []string // ids of people and roles who may run the restricted commands, beside those the platform trusts
}
