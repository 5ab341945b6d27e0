// Profiles: what is known of one person of a conversation: what is true now, what was, and what is in doubt.

package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"cairn/internal/words"
	"cairn/memory/search"
	"cairn/store"
)

// Profile is what the memories of a conversation say about a person.
type Profile struct {
	ID       string `json:"id,omitempty" jsonschema:"the platform's; absent: not known"`
	Name     string `json:"name"`
	OptedOut bool   `json:"opted_out,omitempty" jsonschema:"no memories of this person are saved"`

	Now   []Memory `json:"now" jsonschema:"facts that are true now, by attribute"`
	Doubt []Memory `json:"doubt" jsonschema:"facts that contradict each other, by attribute"`
	Past  []Memory `json:"past" jsonschema:"facts that were true, by attribute, the latest first"`
	Other []Memory `json:"other" jsonschema:"all other current memories, and facts that are not true yet, newest first"`

	Namesakes []store.Person `json:"namesakes,omitempty" jsonschema:"several people have this name: ask for one of them by id; the memories are those of which nobody knows whom they mean"`
}

// Profile returns what the conversation's own memories say about the person with a platform ID, a name or a part of it. A PersonError says
// that nobody has it: nobody who speaks here, and nobody whom a memory is about.
func (ms Memories) Profile(ctx context.Context, person string) (p Profile, err error) {
	var unknown error
	err = ms.store.View(ctx, func(tx *store.Tx) {
		people := ms.c.People(tx)
		known := acquaintances(slices.Concat(people.Named(), ms.c.Memories(tx).Subjects()))
		found := called(mentioned(person, asker{}), known)
		if len(found) == 0 {
			unknown = unknownPerson(person, known)
			return
		}
		p = known.profile(person, found)
		p.OptedOut = p.ID != "" && slices.Contains(people.Out(), p.ID)
		names := known.namesOf(p.ID, found)
		all := tx.MemoriesIn(store.Scope{Of: ms.c}).All(store.MemoryFilter{State: "all", About: append(names, p.ID)})
		p.sort(slices.DeleteFunc(all, func(m store.Memory) bool {
			who := store.Person{ID: m.AboutID, Name: cmp.Or(m.About, m.Speaker)}
			return known.idOf(who) != p.ID || p.ID == "" && !slices.Contains(names, who.Name)
		}))
	})
	return p, cmp.Or(store.Fail("show a person", err), unknown)
}

// Knows reports whether the conversation knows somebody by a platform ID, a name or a part of it, or by a word for the asker or the bot.
func (ms Memories) Knows(ctx context.Context, person string) (bool, error) {
	name := mentioned(person, asker{})
	if search.SaysMe(name) || isAssistant[words.Fold(name)] {
		return true, nil
	}
	return store.View(ctx, ms.c, "look for a person", func(tx *store.Tx) bool {
		return len(called(name, slices.Concat(ms.c.People(tx).Named(), ms.c.Memories(tx).Subjects()))) > 0
	})
}

// acquaintances are those who speak in a conversation, and those whom its memories are about, each with each of their names.
type acquaintances []store.Person

// idOf returns the ID of one of them. A name without an ID is that of the only person who has it; "": nobody, or one of several.
func (known acquaintances) idOf(who store.Person) (id string) {
	if who.ID != "" {
		return who.ID
	}
	for _, other := range known {
		if other.ID == "" || other.ID == id || words.Fold(other.Name) != words.Fold(who.Name) {
			continue
		}
		if id != "" {
			return ""
		}
		id = other.ID
	}
	return id
}

// namesOf returns the names of the person with an ID; "": those of all whom it may mean.
func (known acquaintances) namesOf(id string, found []store.Person) (names []string) {
	for _, other := range known {
		if id != "" && known.idOf(other) == id || id == "" && slices.Contains(found, other) {
			names = append(names, other.Name)
		}
	}
	return names
}

// profile returns an empty profile of those whom a name or an ID means.
func (known acquaintances) profile(name string, found []store.Person) Profile {
	var people []store.Person
	for _, one := range found {
		one.ID = known.idOf(one)
		isSame := func(other store.Person) bool {
			return one.ID != "" && other.ID == one.ID || one.ID == other.ID && words.Fold(one.Name) == words.Fold(other.Name)
		}
		if !slices.ContainsFunc(people, isSame) {
			people = append(people, one)
		}
	}
	if len(people) == 1 {
		return Profile{ID: people[0].ID, Name: people[0].Name}
	}
	people = slices.DeleteFunc(people, func(one store.Person) bool { return one.ID == "" && words.Fold(one.Name) == words.Fold(name) })
	return Profile{Name: name, Namesakes: people}
}

// sort puts memories where they belong.
func (p *Profile) sort(all []store.Memory) {
	values := make(map[int64]store.Memory)
	for _, m := range all {
		values[m.ID] = m
	}
	for _, m := range all {
		isFact := m.Slot != "" && !strings.Contains(m.Slot, ofThing)
		by, isReplaced := values[m.SupersededBy]
		var into *[]Memory
		switch {
		case m.State == "forgotten", m.State == "replaced", m.State == "superseded" && !isFact:
		case m.State == "superseded" && isReplaced && by.Slot == m.Slot && hasValue(by, m.Value): // the other one stands for it
		case Memory{Memory: m}.droppedPlan():
		case !isFact, m.State == "active" && m.Upcoming:
			into = &p.Other
		case m.State == "superseded", m.State == "expired":
			into = &p.Past
		case m.InDoubt:
			into = &p.Doubt
		default:
			into = &p.Now
		}
		if into != nil {
			*into = append(*into, Memory{Memory: m})
		}
	}
	latest := func(x, y Memory) int { return cmp.Or(y.SaidAt.Compare(x.SaidAt), cmp.Compare(y.ID, x.ID)) }
	for _, facts := range [][]Memory{p.Now, p.Doubt, p.Past} {
		slices.SortFunc(facts, func(x, y Memory) int {
			return cmp.Or(cmp.Compare(x.Slot, y.Slot), cmp.Compare(y.End(), x.End()), latest(x, y))
		})
	}
	slices.SortFunc(p.Other, latest)
	for _, list := range []*[]Memory{&p.Now, &p.Doubt, &p.Past, &p.Other} {
		*list = append([]Memory{}, *list...) // not null in JSON
	}
}

// End returns until when a memory was or is true, as far as known: a day, month or year; "" if nobody said.
func (m Memory) End() string {
	end := cmp.Or(m.Ended, m.Until)
	if end == "" && m.State == "expired" {
		end = m.Expires.Local().Format(time.DateOnly)
	}
	return end
}
