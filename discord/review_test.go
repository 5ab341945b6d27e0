// What people edit and delete while the bot is away.

package discord

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"cairn/discord/discordtest"
)

// age makes what is stored an hour older: of what was stored just now a history may say nothing.
func (r *rig) age() {
	r.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(r.dir, "cairn.db")+"?_busy_timeout=10000")
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE messages SET saved_at = saved_at - 3600000"); err != nil {
		r.t.Fatal(err)
	}
}

func TestWhatIsChangedWhileTheBotIsAwayIsReadFromHistory(t *testing.T) {
	t.Parallel()
	for name, speaks := range map[string]bool{"where something is said meanwhile": true, "where nothing is": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, discordtest.Options{}).start()
			r.Say(r.square, r.ann.ID, "first")
			edited, gone := r.Say(r.square, r.ann.ID, "teh plan"), r.Say(r.square, r.ann.ID, "a secret")
			r.ask(r.square, "/help")
			r.Say(r.square, r.ann.ID, "last")
			r.heard(r.place(r.square), 4)
			r.stop()
			r.age()
			r.Edit(r.square, edited.ID, "the plan of <@"+r.ann.ID+">")
			r.Delete(r.square, gone.ID)
			want := []string{"first", "the plan of @ann", "", "last"}
			if speaks {
				r.Say(r.square, r.ann.ID, "meanwhile")
				want = append(want, "meanwhile")
			}
			r.start()
			r.until("what was changed", func() bool {
				var texts []string
				for _, m := range r.transcript(r.place(r.square)) {
					texts = append(texts, m.Text)
				}
				return slices.Equal(deleteEmpty(texts), deleteEmpty(slices.Clone(want)))
			})
			if n := len(r.model.Requests()); n != 0 {
				t.Errorf("the model was asked %d times", n)
			}
		})
	}
	t.Run("the only message of a channel", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, discordtest.Options{}).start()
		gone := r.Say(r.square, r.ann.ID, "a secret")
		r.heard(r.place(r.square), 1)
		r.stop()
		r.age()
		r.Delete(r.square, gone.ID)
		r.start()
		r.until("it is deleted", func() bool {
			all := r.transcript(r.place(r.square))
			return len(all) == 0 || len(all) == 1 && all[0].Text == ""
		})
	})
	t.Run("nothing is taken for deleted where the history is hidden", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, discordtest.Options{}).start()
		for _, text := range []string{"one", "two", "three"} {
			r.Say(r.square, r.ann.ID, text)
		}
		r.heard(r.place(r.square), 3)
		r.stop()
		r.age()
		r.Deny(r.square, discordtest.PermissionReadMessageHistory)
		reads := func() int { return len(r.Requests("GET /channels/" + r.square + "/messages")) }
		before := reads()
		r.start()
		r.until("the history is read", func() bool { return reads() > before })
		r.idle(r.place(r.square))
		if n := len(r.transcript(r.place(r.square))); n != 3 {
			t.Errorf("%d messages are left", n)
		}
	})
}
