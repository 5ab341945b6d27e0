// The people of a conversation: those who speak there, and those whom its memories are about.

package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"cairn/internal/words"
	"cairn/store"
)

// Acquaintance is somebody whom a conversation knows.
type Acquaintance struct {
	ID       string    `json:"id,omitempty" jsonschema:"the platform's; absent: not known"`
	Name     string    `json:"name" jsonschema:"the newest"`
	Others   []string  `json:"others" jsonschema:"other names of the same person"`
	Memories int       `json:"memories" jsonschema:"how many current ones are about this person"`
	Last     time.Time `json:"last,omitzero" jsonschema:"time of the newest message; absent: there is none"`
	OptedOut bool      `json:"opted_out,omitempty" jsonschema:"no memories of this person are saved"`
}

// People returns those whom the conversation knows, by name. Of a name that several people have, memories may not say whom they mean: it
// is one more entry, without an ID.
func (ms Memories) People(ctx context.Context) (all []Acquaintance, err error) {
	err = ms.store.View(ctx, func(tx *store.Tx) {
		people := ms.c.People(tx)
		known := acquaintances(slices.Concat(people.Named(), ms.c.Memories(tx).Subjects()))
		out := people.Out()
		of := map[store.Person]*Acquaintance{} // by ID; by name where that is not known
		for _, who := range known {
			key := known.keyOf(who)
			switch one := of[key]; {
			case who.Name == "":
			case one == nil:
				of[key] = &Acquaintance{ID: key.ID, Name: who.Name, Others: []string{}, OptedOut: key.ID != "" && slices.Contains(out, key.ID)}
			case one.Name != who.Name && !slices.Contains(one.Others, who.Name):
				one.Others = append(one.Others, who.Name)
			}
		}
		for _, m := range tx.MemoriesIn(store.Scope{Of: ms.c}).All(store.MemoryFilter{State: "current"}) {
			if one := of[known.keyOf(store.Person{ID: m.AboutID, Name: cmp.Or(m.About, m.Speaker)})]; one != nil {
				one.Memories++
			}
		}
		all = make([]Acquaintance, 0, len(of))
		for _, one := range of {
			one.callNewest(people)
			all = append(all, *one)
		}
	})
	slices.SortFunc(all, func(x, y Acquaintance) int {
		return cmp.Or(cmp.Compare(words.Fold(x.Name), words.Fold(y.Name)), cmp.Compare(x.ID, y.ID))
	})
	return all, store.Fail("list people", err)
}

// keyOf returns the ID of one of them, or the folded name if nobody knows the ID.
func (known acquaintances) keyOf(who store.Person) store.Person {
	if id := known.idOf(who); id != "" {
		return store.Person{ID: id}
	}
	return store.Person{Name: words.Fold(who.Name)}
}

// callNewest makes the name of the newest message the first one.
func (a *Acquaintance) callNewest(people store.People) {
	if a.ID == "" {
		return
	}
	name, at := people.Newest(a.ID)
	a.Last = at
	if i := slices.Index(a.Others, name); i >= 0 {
		a.Name, a.Others[i] = name, a.Name
	}
}
