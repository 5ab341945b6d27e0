package privacy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// ann is a person whose name and id contain the secret, as everything that she writes.
var ann = store.Person{Connector: "discord", ID: "id-" + secret, Name: "Ann " + secret}

// filled returns a store in which each column of privacy.TextColumns that an erasure empties contains the secret, in a channel.
func filled(t *testing.T, dir string) (*store.Store, *store.Conversation) {
	t.Helper()
	s := storetest.OpenStore(t, dir)
	c := find(t, s, "discord:1/2")
	first := saidBy(1, ann.ID, ann.Name, "the "+secret+" is mine")
	first.Label = ann.Name
	first.Quote = "somebody: " + secret
	first.ReplyTo = "m900"
	first.Attachments = []chat.Attachment{{Kind: "image", Name: secret, Data: []byte(secret)}, {Kind: chat.Voice, Seconds: 34, Text: "I have the " + secret}}
	thread := find(t, s, "discord:1/2/m1")
	deliver(t, c, first, quoting(2, "m901", ann.Name+": the "+secret))
	j := check.Must(memory.Of(c).Records().Begin(ctx, transcript.Summary{
		Kind: transcript.Leaf, By: transcript.Worker, Trigger: transcript.OnManual, Span: transcript.Span{From: 1, To: 2},
		FromTime: storetest.Day, ToTime: storetest.Day, Messages: 2, Focus: "keep the " + secret,
	}))(t)
	check.Must(j.Store(ctx, summarize.Summary{Text: "all about the " + secret}))(t)
	storetest.ApplyRows(t, c, j.ID())
	storetest.Commit(t, c, func(s *transcript.State) (transcript.Change, error) {
		return s.Rewrite(j.ID(), 0, "Ann has the "+secret, transcript.Writer{Name: ann.Name, ID: ann.ID})
	})
	check.NoError(t, c.Compactions().Fail(ctx, storetest.Worker(t, c, 1, 2).ID(), "the "+secret+" was refused", nil))
	deliver(t, thread, saidBy(50, "b", "Bob", "what is that?"))
	storetest.Run(t, s, "UPDATE inherited SET quote = 'x: "+secret+"' WHERE kind = ''")

	deliver(t, c, asking(3, "who has it?"))
	storetest.AnswerWith(t, c, storetest.Answer{Turn: 3, First: 4, Native: `{"thought":"` + secret + `"}`}, map[string]llm.Result{"recall": {Text: "Ann: the " + secret}})
	storetest.Run(t, s, "UPDATE messages SET calls = '' WHERE role = 'assistant'") // a model's own words stay
	d := summarize.MemoryDraft{Kind: "fact", Content: "Ann has the " + secret, About: ann.Name, Messages: []int64{1}}
	check.Must(memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: d}))(t)
	fact := fmt.Sprintf(`{"content": "the %[1]s is of %[2]s", "kind": "fact", "about": %[2]q, "messages": [1], "attribute": "%[1]s", "value": "%[1]s", "also": ["%[1]s"]}`, secret, ann.Name)
	check.Must(storetest.Call(storetest.ToolsAt(c, 3), "memory_save", fact))(t)
	check.Must(c.Tasks().Begin(ctx, store.NewTask{Message: "find the " + secret, Max: 5, Task: store.Task{
		Agent: "cairn", Text: "find the " + secret, Author: ann.ID, Began: 2, Sources: []int64{1},
		Above: map[string]string{"focus": secret}, Set: map[string]string{"focus": secret},
	}}))(t)

	value := "always the " + secret
	harmless := "0.5"
	allow := func(map[string]string) error { return nil }
	typist := store.Person{ID: ann.ID, Name: ann.Name}
	check.NoError(t, c.Settings().OverrideAll(ctx, map[string]*string{"focus": &value, "background_threshold": &harmless}, typist, allow))
	check.Must(c.Transcript().Pin(ctx, 2, typist))(t)
	check.NoError(t, s.Pauses().Pause(ctx, c.Name(), typist))
	check.NoError(t, s.Pauses().Pause(ctx, "", typist))
	storetest.Run(t, s, `INSERT INTO outbox (conversation, reply, part, parts, answers, text, failure, state, error, created_at)
		VALUES (?, 'r', 0, 1, '[]', '', 0, 'dropped', 'the platform refused: `+secret+`', 1)`, c.ID())
	waiting := saidBy(60, ann.ID, ann.Name, "more "+secret)
	waiting.Quote = "x: " + secret
	waiting.ReplyTo = "m902"
	waiting.Attachments = []chat.Attachment{{Kind: "file", Name: secret, Text: secret}}
	deliverOnly(t, c, waiting)
	storetest.Run(t, s, "UPDATE messages SET context = ? WHERE platform_id = 'm3'", "recalled: the "+secret)
	storetest.Run(t, s, `INSERT INTO quotes (kind, source, message) SELECT 'message', (SELECT id FROM messages WHERE platform_id = 'm1'), id
		FROM messages WHERE platform_id = 'm3' OR role = 'tool' ON CONFLICT DO NOTHING`)
	storetest.Run(t, s, "INSERT INTO encoders (id, model, length, size) VALUES (1, 'm', 8, 8)")
	storetest.Run(t, s, "INSERT INTO message_vectors (message, encoder, vector) SELECT id, 1, ? FROM messages WHERE platform_id = 'm1'", []byte(secret))
	storetest.Run(t, s, "INSERT INTO memory_vectors (memory, encoder, vector) SELECT id, 1, ? FROM memories", []byte(secret))
	return s, c
}

// holding returns the columns with a fate other than to be kept that contain the secret, or that do not.
func holding(t *testing.T, s *store.Store, has bool) (found []string) {
	t.Helper()
	kept := []privacy.Fate{privacy.ByPlatform, privacy.ByModel, privacy.ByWish, privacy.OnItsWay, privacy.ForADay, privacy.ForAMinute, privacy.WhileShown}
	for table, columns := range privacy.TextColumns {
		for column, fate := range columns {
			text := "CAST(" + column + " AS TEXT)"
			if storetest.OnPostgres && (column == "vector" || column == "data") {
				text = "encode(" + column + ", 'escape')"
			}
			query := fmt.Sprintf("SELECT count(*) FROM %s WHERE %s LIKE '%%%s%%'", table, text, "xylophon")
			if !slices.Contains(kept, fate) && (number(t, s, query) > 0) == has {
				found = append(found, table+"."+column)
			}
		}
	}
	slices.Sort(found)
	return found
}

func TestErasureReachesEachColumn(t *testing.T) {
	check.SkipUnderRace(t)
	erase := func(t *testing.T, s *store.Store, c *store.Conversation) {
		in, _, err := privacy.In(s).Everywhere(ctx, ann)
		check.That(t, err == nil && slices.ContainsFunc(in, func(one *store.Conversation) bool { return one.ID() == c.ID() }), "got %v", err)
		check.Must(privacy.In(s).Erase(ctx, ann, in...))(t)
		for _, one := range in {
			eraseAll(t, one, ann.ID)
		}
	}
	for name, erase := range map[string]func(*testing.T, *store.Store, *store.Conversation){
		"forget me, or purge --user": erase,
		"purge --channel": func(t *testing.T, s *store.Store, c *store.Conversation) {
			for _, one := range []*store.Conversation{c, find(t, s, "discord:1/2/m1")} {
				check.NoError(t, privacy.Of(one).Purge(ctx))
			}
			storetest.Run(t, s, "UPDATE pauses SET made_by = '', made_by_id = '' WHERE scope = ''") // everywhere: of no conversation
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, c := filled(t, dir)
			unfilled := slices.DeleteFunc(holding(t, s, false), func(column string) bool { return column == "erasures.author_id" })
			check.EqualAll(t, "columns that the test leaves empty", unfilled, nil)
			erase(t, s, c)
			check.EqualAll(t, "columns with the secret", holding(t, s, true), nil)
			check.NoError(t, s.Upkeep().EraseFiles(ctx, store.Backups{}))
			storetest.WantNoBytes(t, dir, "xylophon")
		})
	}
}

// A deleted or edited message may have been quoted in a command.
func TestWhatWasTypedGoesWithTheWordsThatItQuotes(t *testing.T) {
	for name, change := range map[string]func(*store.Conversation){
		"deleted": func(c *store.Conversation) { remove(t, c, 1) },
		"edited":  func(c *store.Conversation) { storetest.Edit(t, c, 1, "I said nothing") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newTalk(t)
			deliver(t, c, saidBy(1, "a", "Ann", "the "+secret+" is mine"), saidBy(2, "b", "Bob", "the launch is on Friday"))
			for _, focus := range []string{"all about the " + strings.ToUpper(secret), "the launch"} {
				check.Must(memory.Of(c).Records().Begin(ctx, transcript.Summary{
					Kind: transcript.Leaf, By: transcript.Worker, Trigger: transcript.OnManual, Span: transcript.Span{From: 1, To: 2},
					FromTime: storetest.Day, ToTime: storetest.Day, Messages: 2, Focus: focus,
				}))(t)
			}
			value := secret + "s"
			check.NoError(t, c.Settings().OverrideAll(ctx, map[string]*string{"focus": &value}, store.Person{ID: "b", Name: "Bob"}, func(map[string]string) error { return nil }))
			change(c)
			wantNoSecret(t, c)
			check.Equal(t, "another focus stays", number(t, c.Store(), "SELECT count(*) FROM compactions WHERE focus = 'the launch'"), 1)
		})
	}
}

func TestSettingsOfOthersStay(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, saidBy(1, "a", "Ann", "hello"), saidBy(2, "b", "Bob", "the launch is on Friday"))
	value := "the launch"
	check.NoError(t, c.Settings().OverrideAll(ctx, map[string]*string{"focus": &value}, store.Person{ID: "b", Name: "Bob"}, func(map[string]string) error { return nil }))
	check.Must(privacy.In(c.Store()).Erase(ctx, store.Person{ID: "a", Name: "Ann"}, c))(t)
	eraseAll(t, c, "a")
	check.Equal(t, "settings", number(t, c.Store(), "SELECT count(*) FROM overrides WHERE value = 'the launch' AND made_by = 'Bob'"), 1)
}
