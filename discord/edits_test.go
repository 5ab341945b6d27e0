// Messages that people edit or delete.

package discord

import (
	"slices"
	"testing"
	"time"

	"cairn/discord/discordtest"
)

func TestEditsAndDeletionsReachTheTranscript(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	m := r.Say(r.square, r.ann.ID, "teh plan")
	gone := r.Say(r.square, r.ann.ID, "a secret")
	both := []string{r.Say(r.square, r.ann.ID, "one").ID, r.Say(r.square, r.ann.ID, "two").ID}
	name := r.place(r.square)
	r.heard(name, 4)
	r.Embed(r.square, m.ID) // no edit
	r.Edit(r.square, m.ID, "the plan of <@"+r.ann.ID+">")
	r.Delete(r.square, gone.ID)
	r.Delete(r.square, both...)
	r.ask(r.square, "go on")
	r.answers(r.square, 1)
	var texts []string
	for _, m := range r.heard(name, 2) {
		texts = append(texts, m.Text)
	}
	if !slices.Equal(deleteEmpty(texts), []string{"the plan of @ann", "go on"}) {
		t.Errorf("the transcript has %q", texts)
	}
	if n := len(r.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times; edits start no turn", n)
	}
}

func TestAPartialUpdateIsReadWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	m := r.Post(r.square, r.ann.ID, discordtest.Post{Content: "old", Files: []discordtest.File{{Name: "a.bin", Data: []byte("x")}}})
	r.heard(r.place(r.square), 1)
	r.Drop(1)
	r.Edit(r.square, m.ID, "new")
	r.Dispatch("MESSAGE_UPDATE", map[string]any{
		"id": m.ID, "channel_id": r.square, "guild_id": r.guild.ID, "content": "new", "edited_timestamp": time.Now().UTC().Format(time.RFC3339Nano),
	})
	r.until("the edit", func() bool { return r.transcript(r.place(r.square))[0].Text == "new" })
	if files := r.transcript(r.place(r.square))[0].Attachments; len(files) != 1 || files[0].Name != "a.bin" {
		t.Errorf("the edit left %+v of the files", files)
	}
}
