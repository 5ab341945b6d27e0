// Huddles are a line of the transcript.

package slack

import (
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestAHuddleIsALine(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, ok)
	bob := r.w.AddUser("bob")
	r.begin()
	start := r.w.StartHuddle(general, ann)
	r.stored(conversation(general), "user: [huddle: started by @ann]")
	r.w.EndHuddle(general, start, 12*time.Minute, bob)
	r.stored(conversation(general), "user: [huddle: started by @ann, 12 minutes, with @bob]")
	first := r.Transcript(conversation(general))[0]
	check.Equal(t, "its author", first.Author, "ann")
	r.w.Say(slacktest.Post{Channel: general, User: bob, Thread: start, Text: "the minutes"})
	r.stored(conversation(general, start), "user: the minutes")
	r.w.Delete(general, r.w.StartHuddle(general, ann)) // all have left at once
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
	r.stored(conversation(general), "user: [huddle: started by @ann, 12 minutes, with @bob]", "user: hello", "assistant: ok")

	dm := r.w.DM(ann)
	r.w.StartHuddle(dm, ann)
	r.stored(conversation(dm), "user: [huddle: started by @ann]")
	r.w.Say(slacktest.Post{Channel: dm, User: ann, Text: "hello"})
	r.stored(conversation(dm), "user: [huddle: started by @ann]", "user: hello", "assistant: ok") // one answer
}

func TestWhatIsSaidOfAHuddle(t *testing.T) {
	for want, r := range map[string]room{
		"[huddle]":                       {},
		"[huddle: started by <@U1>]":     {Creator: "U1", Started: 1000, Who: []string{"U1"}},
		"[huddle: less than a minute]":   {Started: 1000, Ended: 1025},
		"[huddle: 1 minute]":             {Started: 1000, Ended: 1060},
		"[huddle: 1 h 40 min]":           {Started: 1000, Ended: 7000},
		"[huddle: with <@U1>, <@U2>]":    {Who: []string{"U1", "U2"}},
		"[huddle: started by <@U1&gt;>]": {Creator: "U1>"},
	} {
		check.Equal(t, "the text", r.text(), want)
	}
}
