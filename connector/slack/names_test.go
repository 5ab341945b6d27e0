// New names of people and channels.

package slack

import (
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestANewNameShowsAtOnce(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, ok)
	secret := r.w.AddPrivateChannel("secret", ann)
	r.begin()
	for _, id := range []string{general, secret} {
		r.w.Say(slacktest.Post{Channel: id, User: ann, Text: mention + "hello"})
		r.answered(id, "ok")
		check.Equal(t, "the author", r.Transcript(conversation(id))[0].Author, "ann")
	}
	r.w.RenameUser(ann, "anna")
	r.w.RenameChannel(general, "lobby")
	r.w.RenameChannel(secret, "hidden")
	r.w.Emit(map[string]any{"type": "user_profile_changed", "user": ann}) // events in another form change nothing
	r.w.Emit(map[string]any{"type": "channel_rename", "channel": general})
	r.eventually("the events are handled", r.acknowledged)
	for _, id := range []string{general, secret} {
		r.w.Say(slacktest.Post{Channel: id, User: ann, Text: mention + "hello"})
		r.answered(id, "ok", "ok")
		last := r.Transcript(conversation(id))
		check.Equal(t, "the author", last[len(last)-2].Author, "anna")
	}
	for name, want := range map[string]string{ann: "anna", general: "lobby", secret: "hidden"} {
		check.Equal(t, "the name of "+name, r.connector.names.nameOf(name), want)
	}
	label := r.connector.names.label(r.connector.self.place(general, ""), "")
	check.Contains(t, "the label of the channel", label, "lobby")
}

func TestTheBotIsCalledByItsNewName(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, ok)
	r.w.Emit(map[string]any{"type": "user_profile_changed", "user": map[string]any{
		"id": slacktest.BotUserID, "name": "cairn", "profile": map[string]any{"display_name": "Milestone"},
	}})
	r.eventually("the event is handled", r.acknowledged)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "ask " + mention + "about it"})
	r.answered(general, "ok")
	check.Contains(t, "what the model reads", r.Transcript(conversation(general))[0].Text, "@Milestone")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
	r.answered(general, "ok", "ok")
	place := r.connector.self.place(general, "")
	place.Thread = "1700000000.000100"
	check.HasPrefix(t, "how to write a command in a thread", r.connector.Spell(place.String(), "/stop"), "@Milestone")
}
