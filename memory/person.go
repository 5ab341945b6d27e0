// Whom a question asks about: the people that a name or an id may mean.

package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/internal/words"
	"cairn/memory/search"
	"cairn/store"
)

// PersonError says that nobody who speaks in the conversation has a name.
type PersonError struct {
	Name  string   // that was asked for
	Known []string // names of those who speak there, some of them
}

func (e *PersonError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("nobody here is called %q: nobody has written anything yet", e.Name)
	}
	return fmt.Sprintf("nobody here is called %q: use one of these names: %s", e.Name, strings.Join(e.Known, ", "))
}

// maxKnown limits the names in a PersonError.
const maxKnown = 20

// asker is who asks a question: "me" means this person. Both are empty if it is not known.
type asker struct{ name, id string }

// authorsOf returns those of the people that by means: a platform ID, a name, or a part of a name, with or without @, in the form of
// a mention, or "me", the asker. assistant: it means the bot.
func authorsOf(by string, me asker, people []store.Person) (authors []store.Person, assistant bool, err error) {
	name := mentioned(by, me)
	switch authors := called(name, people); {
	case len(authors) > 0:
		return authors, false, nil
	case isAssistant[words.Fold(name)]:
		return nil, true, nil
	}
	if name == me.id {
		name = me.name
	}
	return nil, false, unknownPerson(name, people)
}

// unknownPerson returns the error that none of the people has a name.
func unknownPerson(name string, people []store.Person) *PersonError {
	unknown := &PersonError{Name: chat.OneLine(name)}
	for _, p := range people {
		if len(unknown.Known) < maxKnown && p.Name != "" && !slices.Contains(unknown.Known, p.Name) {
			unknown.Known = append(unknown.Known, p.Name)
		}
	}
	return unknown
}

// isAssistant are words that mean the bot.
var isAssistant = words.Set("assistant bot cairn you yourself")

// mentioned returns the name or id in a mention, "@Ada", "<@123>" or "<@U123|ada>", and for "me" the asker's ID, or else their name.
func mentioned(name string, me asker) string {
	name = strings.TrimSpace(name)
	if inside, ok := strings.CutPrefix(name, "<@"); ok {
		name, _, _ = strings.Cut(strings.Trim(inside, "!>"), "|")
	}
	name = strings.TrimSpace(strings.TrimPrefix(name, "@"))
	if search.SaysMe(name) {
		return cmp.Or(me.id, me.name, name)
	}
	return name
}

// namesOf returns those of the names that about means, and what it means itself, which may be an ID.
func namesOf(about string, me asker, names []string) []string {
	name := mentioned(about, me)
	matching := []string{name}
	people := make([]store.Person, len(names))
	for i := range names {
		people[i].Name = names[i]
	}
	for _, p := range called(name, people) {
		matching = append(matching, p.Name)
	}
	return matching
}

// called returns those of the people whom a name means: by their platform ID, else by the whole name, else by a part of it, in whole words.
func called(name string, people []store.Person) []store.Person {
	folded := words.Fold(name)
	parts := strings.Fields(folded)
	if len(parts) == 0 {
		return nil
	}
	for _, is := range []func(store.Person) bool{
		func(p store.Person) bool { return p.ID == name },
		func(p store.Person) bool { return words.Fold(p.Name) == folded },
		func(p store.Person) bool {
			all := strings.Fields(words.Fold(p.Name))
			return !slices.ContainsFunc(parts, func(part string) bool { return !slices.Contains(all, part) })
		},
	} {
		var found []store.Person
		for _, p := range people {
			if is(p) {
				found = append(found, p)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}
