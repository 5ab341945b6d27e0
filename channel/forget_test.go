package channel_test

import (
	"testing"

	"cairn/channel/access"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// What a person typed into commands is theirs, even if they said nothing else here.
func TestForgetMeReachesCommands(t *testing.T) {
	r := newRig(t, echo)
	eve := access.Person{ID: "u5", Name: "Eve", Manager: true}
	for range 12 {
		r.sayAs("u2", "Bo", place, "tea is served on the pier again, and all is well there")
	}
	r.runAs(eve, place, "/compact the parrots of Eve")
	r.runAs(eve, place, "/settings focus parrots")
	r.runAs(eve, place, "/settings keep_first 1")
	kept := func() int {
		return storetest.Number(t, r.store, `SELECT (SELECT count(*) FROM compactions WHERE focus LIKE '%parrots%')
			+ (SELECT count(*) FROM overrides WHERE value = 'parrots' OR made_by = 'Eve')`)
	}
	check.That(t, kept() >= 2, "got %d rows before", kept())
	r.says(eve, place, "/forget me", "This permanently deletes 2 messages and 0 memories of yours in this conversation")
	r.says(eve, place, "/forget me everywhere", "This permanently deletes 2 messages and 0 memories of yours across all our conversations")
	r.says(eve, place, "/forget me yes", "Deleted: everything of yours in this conversation.")
	check.Equal(t, "rows with her words or name", kept(), 0)
	check.Lacks(t, "settings", r.runAs(eve, place, "/settings").Text, "parrots", "Eve")
	check.Equal(t, "settings that are numbers", storetest.Number(t, r.store, "SELECT count(*) FROM overrides WHERE key = 'keep_first'"), 1)
}

// Two people may have one name.
func TestForgetMeKeepsSettingsOfNamesakes(t *testing.T) {
	r := newRig(t, echo)
	namesake := access.Person{ID: "u6", Name: "Eve", Manager: true}
	r.sayAs("u2", "Bo", place, "tea is served on the pier again, and all is well there")
	r.runAs(namesake, place, "/settings focus parrots")
	eve := access.Person{ID: "u5", Name: "Eve", Manager: true}
	r.says(eve, place, "/forget me", "I have nothing from you in this conversation.")
	r.says(eve, place, "/forget me yes", "Deleted: everything of yours in this conversation.")
	check.Contains(t, "settings", r.says(namesake, place, "/settings focus"), "parrots", "set here by Eve")
}
