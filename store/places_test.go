package store_test

import (
	"testing"
	"time"

	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// listedPlaces returns what people call the conversations that a filter chooses.
func listedPlaces(t *testing.T, s *store.Store, f store.PlaceFilter) (names []string) {
	t.Helper()
	f.Limit = 10
	all, total, err := store.PlacesOf(ctx, s, f)
	check.NoError(t, err)
	check.Equal(t, "total", total, len(all))
	for _, p := range all {
		names = append(names, p.Channel+" "+p.Name)
	}
	return names
}

func TestNamesAndTheArchive(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	write := func(name, id string, at time.Time) *store.Conversation {
		c := check.Must(s.Conversation(ctx, name))(t)
		check.Must(c.Past().Import(ctx, []store.Inbound{{ID: id, Text: "hello", Time: at}}))(t)
		return c
	}
	now := time.Now()
	pond := write("web:pond", "1", now.Add(-time.Hour))
	write("web:shed", "1", now.Add(-2*time.Hour))
	write("terminal:web:fake", "1", now.Add(-3*time.Hour))

	check.NoError(t, pond.Transcript().Rename(ctx, "The pond\x00 "))
	check.EqualAll(t, "web's", listedPlaces(t, s, store.PlaceFilter{Connector: "web"}), []string{"web:pond The pond\uFFFD ", "web:shed "})
	check.EqualAll(t, "found by the new name", listedPlaces(t, s, store.PlaceFilter{Connector: "web", Words: "the POND"}), []string{"web:pond The pond\uFFFD "})
	check.NoError(t, pond.Transcript().Rename(ctx, ""))

	check.NoError(t, pond.Transcript().Archive(ctx, true))
	yes := store.PlaceFilter{Connector: "web", Archived: "yes"}
	no := store.PlaceFilter{Connector: "web", Archived: "no"}
	check.EqualAll(t, "archived", listedPlaces(t, s, yes), []string{"web:pond "})
	check.EqualAll(t, "not archived", listedPlaces(t, s, no), []string{"web:shed "})
	check.EqualAll(t, "both", listedPlaces(t, s, store.PlaceFilter{Connector: "web"}), []string{"web:pond ", "web:shed "})
	check.NoError(t, pond.Transcript().Archive(ctx, false))
	check.EqualAll(t, "none is archived", listedPlaces(t, s, yes), nil)
	check.NoError(t, pond.Transcript().Archive(ctx, true))
	write("web:pond", "2", now.Add(time.Hour)) // somebody writes there
	check.EqualAll(t, "a new message brings it back", listedPlaces(t, s, no), []string{"web:pond ", "web:shed "})

	check.NoError(t, pond.Transcript().Rename(ctx, "Pond"))
	check.NoError(t, privacy.Of(pond).Purge(ctx))
	check.EqualAll(t, "a purged one is in no list", listedPlaces(t, s, store.PlaceFilter{}), []string{"web:shed ", "terminal:web:fake "})
	write("web:pond", "3", now)
	check.EqualAll(t, "its name is gone with it", listedPlaces(t, s, no), []string{"web:pond ", "web:shed "})
}
