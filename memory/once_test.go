package memory_test

import (
	"fmt"
	"slices"
	"testing"

	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// What one person said in several places is one result where one search reaches them all; each place keeps its own row.
func TestFactOfSeveralPlacesIsOneResult(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	memory.In(s).Share(true)
	in := map[string]*store.Conversation{}
	for name, audience := range map[string]store.Audience{
		"discord:1/10": store.ServerWide, "discord:1/11": store.ServerWide, "discord:1/12": store.ServerWide, "discord:1/13": store.Members,
	} {
		in[name] = find(t, s, name)
		deliver(t, in[name], storetest.Within(audience, said(1, "hello")))
	}
	saved := map[string]int64{}
	says := func(name, person, content string) {
		t.Helper()
		d := summarize.MemoryDraft{Kind: "fact", Content: content}
		m := check.Must(memory.Of(in[name]).Keep(ctx, memory.KeepRequest{Server: true, Person: person, PersonID: "id of " + person, MemoryDraft: d}))(t)
		saved[name+" "+person] = m.ID
	}
	for _, name := range []string{"discord:1/10", "discord:1/11", "discord:1/13"} {
		says(name, "Ann", "I live in a lighthouse near Faro")
	}
	says("discord:1/12", "Bob", "I live in a lighthouse near Faro")
	wants := func(claim, from string, want ...string) {
		t.Helper()
		found, total, err := memory.Of(in[from]).List(ctx, memory.Filter{Query: "lighthouse"})
		check.NoError(t, err)
		var got []string
		for _, m := range found {
			got = append(got, m.Conversation+" "+m.Speaker)
		}
		check.EqualAll(t, claim, slices.Sorted(slices.Values(got)), want)
		check.Equal(t, claim+": total", total, len(want))
	}
	wants("its own, and another person's", "discord:1/10", "discord:1/10 Ann", "discord:1/12 Bob")
	wants("its own here too", "discord:1/11", "discord:1/11 Ann", "discord:1/12 Bob")
	wants("of a private place, which sees both", "discord:1/13", "discord:1/13 Ann")
	check.NoError(t, memory.Of(in["discord:1/10"]).Forget(ctx, saved["discord:1/10 Ann"]))
	wants("the other's, once its own is forgotten", "discord:1/10", "discord:1/11 Ann", "discord:1/12 Bob")
	memory.In(s).Share(false)
	wants("nothing, once they share nothing", "discord:1/10")
	all, _, err := memory.In(s).List(ctx, memory.Filter{Query: "lighthouse"})
	check.NoError(t, err)
	check.Len(t, "rows on the owner's list: "+fmt.Sprint(all), all, 3)
}
