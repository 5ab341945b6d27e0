package memory_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// stated is a memory to import: who says what about whom, each person as "id name".
type stated struct {
	by, about, attribute, value, since, until string
	hours                                     int
}

func (s stated) exported() memory.Exported {
	m := store.Memory{Conversation: "terminal:general", Kind: "fact", Content: s.about + " " + s.attribute + " " + s.value, State: "active", By: "worker", Importance: 0.5}
	m.SpeakerID, m.Speaker, _ = strings.Cut(s.by, " ")
	m.AboutID, m.About, _ = strings.Cut(s.about, " ")
	m.SaidAt = storetest.Day.Add(time.Duration(s.hours) * time.Hour)
	m.Attribute = s.attribute
	m.Value = s.value
	m.Since = s.since
	m.Until = s.until
	return memory.Exported{Memory: memory.Memory{Memory: m}}
}

// profiled returns a conversation of two people called Ada, of Bob, and of Cleo, of whom nobody knows the ID, with facts about them.
func profiled(t *testing.T) *store.Conversation {
	c := talked(t, by(1, 1, "1", "Ada", "hello"), by(2, 2, "2", "Ada", "hello"), by(3, 3, "3", "Bob", "hello"), by(4, 4, "1", "Ada Lovelace", "hello"))
	var all []memory.Exported
	for _, s := range []stated{
		{by: "1 Ada", about: "1 Ada", attribute: "home", value: "Oslo", hours: 1},
		{by: "1 Ada", about: "1 Ada", attribute: "home", value: "Lisbon", since: "2022-05", hours: 2},
		{by: "1 Ada", about: "1 Ada", attribute: "home", value: "lisbon", hours: 3},
		{by: "2 Ada", about: "2 Ada", attribute: "home", value: "Turin", hours: 1},
		{by: "3 Bob", about: "3 Bob", attribute: "employer", value: "Acme", hours: 1},
		{by: "1 Ada", about: "3 Bob", attribute: "employer", value: "Globex", hours: 2},
		{by: "1 Ada", about: "1 Ada", attribute: "visa", value: "B1", until: "2020", hours: 3},
		{by: "3 Bob", about: " Ada Lovelace", attribute: "car", value: "Fiat", hours: 4}, // a name that only one person has
		{by: "3 Bob", about: " Ada", attribute: "dog", value: "Pepper", hours: 4},        // one of two
		{by: "3 Bob", about: " Cleo", attribute: "home", value: "Ghana", hours: 4},       // who never wrote
		{by: "1 Ada", about: "1 Ada", attribute: "", value: "sings", hours: 5},
	} {
		all = append(all, s.exported())
	}
	launch := stated{by: "1 Ada", about: "1 Ada", attribute: "launch date", value: "May", hours: 6}.exported()
	launch.Slot = "kiwi: launch date"
	check.Must(memory.In(c.Store()).Import(ctx, append(all, launch)))(t)
	return c
}

// lists returns the values of a profile, in its four lists.
func lists(p memory.Profile) string {
	var all []string
	for _, list := range [][]memory.Memory{p.Now, p.Doubt, p.Past, p.Other} {
		all = append(all, strings.Join(storetest.Map(list, func(m memory.Memory) string {
			if m.Value == "" {
				return m.Content
			}
			return m.Value
		}), " "))
	}
	return strings.Join(all, "|")
}

func TestProfile(t *testing.T) {
	c := profiled(t)
	for _, test := range []struct{ claim, who, name, id, want string }{
		{"an ID", "1", "Ada", "1", "Fiat Lisbon||Oslo B1|May 1 Ada  sings"},
		{"a name that only one person has", "ada LOVELACE", "Ada Lovelace", "1", "Fiat Lisbon||Oslo B1|May 1 Ada  sings"},
		{"a namesake", "2", "Ada", "2", "Turin|||"},
		{"what somebody else says of a person is in doubt", "Bob", "Bob", "3", "|Globex Acme||"},
		{"a name that several people have: what nobody knows of whom", "Ada", "Ada", "", "Pepper|||"},
		{"a person who never wrote", "cleo", "Cleo", "", "Ghana|||"},
	} {
		p, err := memory.Of(c).Profile(ctx, test.who)
		check.NoError(t, err)
		check.Equal(t, test.claim, lists(p), test.want)
		check.Equal(t, test.claim, p.Name+" "+p.ID, test.name+" "+test.id)
		check.Equal(t, test.claim+": namesakes", len(p.Namesakes), map[bool]int{true: 2}[test.who == "Ada"])
	}
	p := check.Must(memory.Of(c).Profile(ctx, "1"))(t)
	check.Equal(t, "when it ended", p.Past[0].End(), "2022-05")
	_, err := memory.Of(c).Profile(ctx, "Eve")
	unknown, ok := errors.AsType[*memory.PersonError](err)
	check.That(t, ok && slices.Contains(unknown.Known, "Cleo"), "nobody: %v", err)
	check.NoError(t, memory.Of(c).Forget(ctx, p.Now[1].ID))
	check.Equal(t, "what was forgotten, and what it had superseded", lists(check.Must(memory.Of(c).Profile(ctx, "1"))(t)), "Fiat Oslo||B1|May 1 Ada  sings")
}

func TestProfileOfWhoOptedOut(t *testing.T) {
	c := profiled(t)
	check.Must(privacy.Of(c).OptOut(ctx, "2", "Ada", true))(t)
	for id, out := range map[string]bool{"1": false, "2": true} {
		check.Equal(t, id, check.Must(memory.Of(c).Profile(ctx, id))(t).OptedOut, out)
	}
}

// A platform ID finds what people say of themselves, too, and a search also what was true before.
func TestMemoriesAboutAnID(t *testing.T) {
	c := talked(t, by(1, 1, "1", "Ann", "I live in Oslo"), by(2, 2, "1", "Ann", "I live in Lisbon"), by(3, 3, "2", "Ann", "I live in Porto"))
	for i, city := range []string{"Oslo", "Lisbon", "Porto"} {
		call(t, toolsAt(c, 3), "memory_save", `{"content": "home is in `+city+`", "kind": "fact", "attribute": "home", "value": "`+city+`", "messages": [`+string(rune('1'+i))+`]}`)
	}
	found, _, err := memory.Of(c).List(ctx, memory.Question{Text: "home", By: "1", Limit: 9}.Memories())
	check.NoError(t, err)
	check.EqualAll(t, "memories", storetest.Map(found, func(m memory.Memory) string { return m.Value + " " + m.State }), []string{"Lisbon active", "Oslo superseded"})
}

// Who is known by memories alone is known as long as one of them is.
func TestForgottenPeople(t *testing.T) {
	c := profiled(t)
	p := check.Must(memory.Of(c).Profile(ctx, "Cleo"))(t)
	check.NoError(t, memory.Of(c).Forget(ctx, p.Now[0].ID))
	_, err := memory.Of(c).Profile(ctx, "Cleo")
	unknown, ok := errors.AsType[*memory.PersonError](err)
	check.That(t, ok && !slices.Contains(unknown.Known, "Cleo"), "nobody: %v", err)
	check.NoError(t, memory.Of(c).Restore(ctx, p.Now[0].ID))
	check.Equal(t, "once it is restored", lists(check.Must(memory.Of(c).Profile(ctx, "Cleo"))(t)), "Ghana|||")
}
