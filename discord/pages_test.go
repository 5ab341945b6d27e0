// Lists, page by page.

package discord

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/discord/discordtest"
	"cairn/internal/check"
)

func TestLongListsHavePages(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	r.language = "de"
	r.start().registered()
	for i := range 25 {
		if _, _, err := r.hub.Run(r.ctx, r.place(r.square), channel.Person{ID: r.ann.ID, Name: "ann"}, fmt.Sprintf("/remember fact number %d is %s", i, strings.Repeat("very ", 30))); err != nil {
			t.Fatal(err)
		}
	}
	i := r.answered(r.Slash(r.square, r.ann.ID, "memories", with("query", "fact")))
	buttons := func(m *discordtest.Message) []discordgo.Button {
		var row struct{ Components []discordgo.Button }
		check.NoError(t, json.Unmarshal(m.Components[0], &row))
		return row.Components
	}
	first := buttons(i.Answer)
	if len(first) != 2 || !first[0].Disabled || first[1].Disabled || first[1].Label != "Weiter" || !strings.Contains(i.Answer.Content, "(Seite 1 von 3)") {
		t.Fatalf("the first page: %q, %+v", i.Answer.Content, first)
	}
	page := r.answered(r.Click(r.square, r.ann.ID, i.Answer.ID, first[1].CustomID))
	r.until("the second page", func() bool { return strings.Contains(r.Interaction(page.ID).Answer.Content, "(Seite 2 von 3)") })
	second := buttons(r.Interaction(page.ID).Answer)
	page = r.Click(r.square, r.ann.ID, i.Answer.ID, second[1].CustomID)
	r.until("the third page", func() bool { return strings.Contains(r.Interaction(i.ID).Answer.Content, "(Seite 3 von 3)") })
	third := buttons(r.Interaction(i.ID).Answer)
	check.That(t, !third[0].Disabled && third[1].Disabled, "the buttons of the last page are %+v", third)
}

func TestAListWhoseCommandIsTooLongForAButtonIsShownWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start().registered()
	for i := range 12 {
		_, _, err := r.hub.Run(r.ctx, r.place(r.square), channel.Person{ID: r.ann.ID}, fmt.Sprint("/remember fact ", i))
		check.NoError(t, err)
	}
	i := r.answered(r.Slash(r.square, r.ann.ID, "memories", with("query", strings.Repeat("fact ", 20))))
	check.Len(t, "rows of buttons", i.Answer.Components, 0)
	for n := range 12 {
		check.Contains(t, "the list", i.Answer.Content, fmt.Sprint("fact ", n))
	}
}
