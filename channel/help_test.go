// Which commands /help lists for whom.

package channel_test

import (
	"strings"
	"testing"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/testkit/check"
)

func TestHelpShowsWhatThePersonMayDo(t *testing.T) {
	r := newRig(t, alwaysSay("ok"))
	const more = "People who manage this place have more commands."
	help := func(who access.Person) (lines map[string]bool, text string) {
		text = r.runAs(who, place, "/help").Text
		lines = map[string]bool{}
		for line := range strings.Lines(text) {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
			lines[name] = true
		}
		return lines, text
	}
	lists := map[string]access.Access{"test": {Managers: []string{"deputy", "role7"}}}
	for what, c := range map[string]struct {
		who        access.Person
		restricted []string // as in the settings; nil: not set
		manages    bool
	}{
		"a member":                      {access.Person{ID: "u5"}, nil, false},
		"a manager":                     {access.Person{ID: "deputy"}, nil, true},
		"a manager by a role":           {access.Person{ID: "u5", Roles: []string{"role7"}}, nil, true},
		"whom the platform trusts":      {access.Person{ID: "u5", Manager: true}, nil, true},
		"a member, by other settings":   {access.Person{ID: "u5"}, []string{"recall", "forget"}, false},
		"a member, where nothing is so": {access.Person{ID: "u5"}, []string{}, false},
	} {
		r.withRules(access.Rules{Access: lists, Restricted: c.restricted})
		lines, text := help(c.who)
		for _, command := range command.All {
			answer := r.runAs(c.who, place, "/"+command.Name).Text
			refused := strings.Contains(answer, "is only for people who manage this place") && command.Name != "forget" // /forget me is open to all
			check.Equal(t, what+": /"+command.Name, lines[command.Name], !refused)
		}
		check.Equal(t, what+" is told that there are more", strings.HasSuffix(text, more), !c.manages)
	}
}
