package access_test

import (
	"testing"

	"cairn/channel/access"
	"cairn/store"
	"cairn/testkit/check"
)

func of(connector string, a access.Access) *access.Rules {
	return &access.Rules{Access: map[string]access.Access{connector: a}}
}

func TestHears(t *testing.T) {
	const thread = "discord:s1/c1/t1"
	for name, c := range map[string]struct {
		access       access.Access
		where, who   string
		bot, isHeard bool
	}{
		"everybody is heard without lists":            {access.Access{}, thread, "u1", false, true},
		"nobody who is denied":                        {access.Access{Deny: []string{"u1"}}, thread, "u1", false, false},
		"others than who is denied":                   {access.Access{Deny: []string{"u1"}}, thread, "u2", false, true},
		"nobody in a thread of a denied channel":      {access.Access{Deny: []string{"c1"}}, thread, "u1", false, false},
		"nobody in a denied thread":                   {access.Access{Deny: []string{"t1"}}, thread, "u1", false, false},
		"others in a channel of a denied thread":      {access.Access{Deny: []string{"t1"}}, "discord:s1/c1", "u1", false, true},
		"everybody of an allowed server":              {access.Access{Allow: []string{"s1"}}, thread, "u1", false, true},
		"nobody of another server":                    {access.Access{Allow: []string{"s2"}}, thread, "u1", false, false},
		"nobody who is denied in an allowed server":   {access.Access{Allow: []string{"s1"}, Deny: []string{"u1"}}, thread, "u1", false, false},
		"an owner who is not allowed":                 {access.Access{Allow: []string{"s2"}, Owners: []string{"u1"}}, thread, "u1", false, true},
		"nobody whose id only begins like an allowed": {access.Access{Allow: []string{"u1"}}, thread, "u11", false, false},
		"nobody without an id where some are allowed": {access.Access{Allow: []string{""}}, "discord:s1/c1", "", false, false},
		"no program":                           {access.Access{}, thread, "b1", true, false},
		"no program that is only allowed":      {access.Access{Allow: []string{"b1"}}, thread, "b1", true, false},
		"a named program, also where some are": {access.Access{Bots: []string{"b1"}, Allow: []string{"u1"}}, thread, "b1", true, true},
		"no named program that is denied":      {access.Access{Bots: []string{"b1"}, Deny: []string{"b1"}}, thread, "b1", true, false},
	} {
		check.Equal(t, name, of("discord", c.access).Hears(c.where, c.who, c.bot), c.isHeard)
		check.Equal(t, name+": elsewhere without lists", of("slack", c.access).Hears(c.where, c.who, c.bot), !c.bot)
	}
}

func TestClassify(t *testing.T) {
	respond := func(how access.Respond) *access.Rules {
		return &access.Rules{Respond: func(string) access.Respond { return how }}
	}
	asks := store.Inbound{Addressed: true, Thread: true, Audience: store.ServerWide}
	program := store.Inbound{Bot: true, Addressed: true, Thread: true}
	for name, c := range map[string]struct {
		rules *access.Rules
		where string
		m     store.Inbound
		want  store.Inbound
	}{
		"a question by default": {new(access.Rules), "slack:T1/C1", asks, asks},
		"talk by default":       {new(access.Rules), "slack:T1/C1", store.Inbound{}, store.Inbound{}},
		"a question where the bot only listens": {
			respond(access.RespondNever), "slack:T1/C1", asks, store.Inbound{Audience: store.ServerWide},
		},
		"talk where the bot answers all": {
			respond(access.RespondAll), "slack:T1/C1", store.Inbound{}, store.Inbound{Addressed: true, Optional: true},
		},
		"a question where the bot answers all": {respond(access.RespondAll), "slack:T1/C1", asks, asks},
		"a program": {
			respond(access.RespondAll), "slack:T1/C1", program, store.Inbound{Bot: true, Addressed: true},
		},
		"a direct message": {
			new(access.Rules), "slack:T1/D1", asks, store.Inbound{Addressed: true, Thread: true, Audience: store.Members},
		},
	} {
		c.rules.Classify(c.where, &c.m)
		check.Equal(t, name+": addressed", c.m.Addressed, c.want.Addressed)
		check.Equal(t, name+": optional", c.m.Optional, c.want.Optional)
		check.Equal(t, name+": in its thread", c.m.Thread, c.want.Thread)
		check.Equal(t, name+": audience", c.m.Audience, c.want.Audience)
	}
}

func TestRights(t *testing.T) {
	const place, direct = "discord:s1/c1", "discord:@me/c2"
	lists := access.Access{Owners: []string{"boss"}, Managers: []string{"deputy", "role7"}}
	for name, c := range map[string]struct {
		access                 access.Access
		where                  string
		who                    access.Person
		manages, trusted, owns bool
	}{
		"a stranger":                             {lists, place, access.Person{ID: "u5"}, false, true, false},
		"nobody":                                 {lists, place, access.Person{}, false, true, false},
		"who calls himself boss":                 {lists, place, access.Person{ID: "u5", Name: "boss"}, false, true, false},
		"an owner":                               {lists, place, access.Person{ID: "boss"}, true, true, true},
		"a manager":                              {lists, place, access.Person{ID: "deputy"}, true, true, false},
		"a manager by a role":                    {lists, place, access.Person{ID: "u5", Roles: []string{"role7"}}, true, true, false},
		"who has a role of no rights":            {lists, place, access.Person{ID: "u5", Roles: []string{"boss", ""}}, false, true, false},
		"whom the platform trusts":               {lists, place, access.Person{ID: "u5", Manager: true}, true, true, false},
		"whom the platform trusts, of no owners": {access.Access{}, place, access.Person{ID: "u5", Manager: true}, true, true, true},
		"everybody in a direct message":          {access.Access{}, direct, access.Person{ID: "u5", Manager: true}, true, false, false},
		"a manager in a direct message":          {lists, direct, access.Person{ID: "deputy"}, true, true, false},
		"an owner in a direct message":           {lists, direct, access.Person{ID: "boss"}, true, true, true},
	} {
		rules := of("discord", c.access)
		check.Equal(t, name+": manages", rules.Manages(c.where, c.who), c.manages)
		check.Equal(t, name+": trusted", rules.Trusts(c.where, c.who), c.trusted)
		check.Equal(t, name+": owns", rules.Owns(c.where, c.who), c.owns)
	}
}

func TestRestricts(t *testing.T) {
	for name, c := range map[string]struct {
		restricted     []string
		declared, want bool
	}{
		"as declared":               {nil, true, true},
		"as declared, to everybody": {nil, false, false},
		"the settings name it":      {[]string{"pin"}, false, true},
		"the settings name another": {[]string{"undo"}, true, false},
		"the settings name none":    {[]string{}, true, false},
	} {
		rules := access.Rules{Restricted: c.restricted}
		check.Equal(t, name, rules.Restricts("pin", c.declared), c.want)
	}
}
