package privacy_test

import (
	"testing"

	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// focusOf returns the focus that a conversation has, and under which name it was set.
func focusOf(t *testing.T, c *store.Conversation) (value, by string) {
	t.Helper()
	for _, o := range check.Must(c.Settings().Set(ctx))(t) {
		if o.Key == "focus" {
			value = o.Value
			by = o.By
		}
	}
	return value, by
}

func setFocus(t *testing.T, c *store.Conversation, focus string, by store.Person) {
	t.Helper()
	allow := func(map[string]string) error { return nil }
	check.NoError(t, c.Settings().OverrideAll(ctx, map[string]*string{"focus": &focus}, by, allow))
}

// Two people may have the same name, and one person several.
func TestTypedWordsBelongToAnID(t *testing.T) {
	asker := store.Person{Connector: "terminal", ID: "a", Name: "Ann"}
	for name, step := range map[string]struct {
		by   store.Person
		old  bool // the row is from a version that did not store the id
		want string
	}{
		"the words of who asks are deleted":                    {store.Person{ID: "a", Name: "Ann"}, false, ""},
		"the words of who asks are deleted under another name": {store.Person{ID: "a", Name: "Annie"}, false, ""},
		"the words of a namesake stay":                         {store.Person{ID: "z", Name: "Ann"}, false, "the launch"},
		"words without an id belong to everyone of the name":   {store.Person{Name: "Ann"}, true, ""},
		"words without an id and of another name stay":         {store.Person{Name: "Bob"}, true, "the launch"},
		"words without an id and without a name stay":          {store.Person{}, true, "the launch"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newTalk(t)
			deliver(t, c, saidBy(1, "b", "Bob", "hello"))
			setFocus(t, c, "the launch", step.by)
			check.Must(c.Transcript().Pin(ctx, 1, step.by))(t)
			check.NoError(t, c.Store().Pauses().Pause(ctx, c.Name(), step.by))
			if step.old {
				storetest.Run(t, c.Store(), "UPDATE overrides SET made_by_id = ''")
			}
			kept := step.want != ""
			held := check.Must(privacy.Of(c).Traces(ctx, asker))(t)
			check.Equal(t, "rows that count as theirs", held.Messages, map[bool]int{true: 0, false: 3}[kept])
			in, _, err := privacy.In(c.Store()).Everywhere(ctx, store.Person{Connector: "terminal", ID: "a", Name: "Ann"})
			check.That(t, err == nil && (len(in) == 0) == kept, "conversations with something of theirs: %v, %v", in, err)
			check.Must(privacy.In(c.Store()).Erase(ctx, asker, c))(t)
			value, by := focusOf(t, c)
			check.Equal(t, "focus", value, step.want)
			check.Equal(t, "its author", by, map[bool]string{true: step.by.Name}[kept])
			names := storetest.Number(t, c.Store(), "SELECT count(*) FROM (SELECT made_by_id, made_by FROM pins UNION ALL SELECT made_by_id, made_by FROM pauses) named WHERE made_by || made_by_id <> ''")
			check.Equal(t, "pins and pauses with a name or an id", names > 0, kept && step.by != store.Person{})
		})
	}
}

// `cairn purge --user` names people whom it can find.
func TestWhoOnlyTypedCommandsIsFound(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, saidBy(1, "b", "Bob", "hello"))
	setFocus(t, c, "the launch", store.Person{ID: "e", Name: "Eve"})
	for _, who := range []string{"e", "eve"} {
		found := check.Must(privacy.In(c.Store()).Find(ctx, "", who))(t)
		check.That(t, len(found) == 1 && found[0].ID == "e" && found[0].Name == "Eve", "%s: got %v", who, found)
	}
}
