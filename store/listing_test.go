package store_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/privacy"
	"cairn/store"
)

func TestListingShowsPlaceNames(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	c := check.Must(s.Conversation(ctx, "discord:9/20"))(t)
	name := func() string {
		t.Helper()
		all, err := s.Listing(ctx)
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		return all[0].Name
	}
	for _, step := range []struct{ id, label, want string }{
		{"1", "", ""},
		{"2", "#general · Cozy Corner", "#general · Cozy Corner"},
		{"3", "", "#general · Cozy Corner"},
		{"4", "#plaza · Cozy Corner", "#plaza · Cozy Corner"},
		{"5", strings.Repeat("é", 200) + "x", strings.Repeat("é", 150)},
	} {
		check.Must(c.Inbox().Deliver(ctx, store.Inbound{ID: step.id, AuthorID: "1", Author: "Ada", Text: "hello", Label: step.label}))(t)
		check.Equal(t, fmt.Sprintf("name after message %s", step.id), name(), step.want)
	}
	check.NoError(t, privacy.Of(c).Purge(ctx))
	check.Len(t, "conversations after the only one was deleted", check.Must(s.Listing(ctx))(t), 0)
	if page, total, err := s.Places(ctx, "", 10, 0); err != nil || len(page)+total > 0 {
		t.Errorf("places after the only one was deleted: %+v, %d, %v", page, total, err)
	}
	check.Must(c.Inbox().Deliver(ctx, store.Inbound{ID: "6", AuthorID: "1", Author: "Ada", Text: "hello"}))(t)
	check.Equal(t, "name of a deleted conversation", name(), "")
}
