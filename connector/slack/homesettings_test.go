// The settings of a channel in a modal, which managers open from the Home tab.

package slack

import (
	"slices"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel/access"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

// managed is a homeRig with an admin in a private channel, in which the bot has read something.
func managed(t *testing.T, w slacktest.Options) (r *rig, secret, ben string) {
	t.Helper()
	r, _, _ = homeRig(t, w)
	ben = r.w.AddUser("ben")
	r.w.Admin(ben)
	secret = r.w.AddPrivateChannel("secret", ben)
	r.w.Say(slacktest.Post{Channel: secret, User: ben, Text: "The launch is on Friday."})
	r.stored(conversation(secret), "user: The launch is on Friday.")
	return r, secret, ben
}

// choose has a person choose a channel in the Home tab.
func (r *rig) choose(person string, home slacktest.View, channelID string) {
	i := slices.IndexFunc(home.Blocks.BlockSet, func(b slackgo.Block) bool { return strings.HasPrefix(b.ID(), homePlaceBlock) })
	r.w.ChooseInView(person, home, home.Blocks.BlockSet[i].ID(), homePlace, channelID)
}

// modal has a person choose a channel in the Home tab, and returns the modal that opens.
func (r *rig) modal(person, channelID string) (v slacktest.View) {
	r.T.Helper()
	home := r.opened(person, "You may change how the conversation of a channel is summarized.")
	r.choose(person, home, channelID)
	r.republished(person, home, "summarized")
	r.eventually("the modal opens", func() (open bool) { v, open = r.w.Modal(person); return open })
	return v
}

// submitted has a person submit the modal, and waits until Slack has the acknowledgement.
func (r *rig) submitted(person string, texts map[string]string) (v slacktest.View, open bool) {
	r.T.Helper()
	r.w.SubmitModal(person, texts)
	all := r.w.Deliveries()
	r.eventually("the submission is acknowledged", func() bool { return !r.w.Deliveries()[len(all)-1].Acked.IsZero() })
	return r.w.Modal(person)
}

func TestManagersChangeTheSettingsOfAChannelInAModal(t *testing.T) {
	r, secret, ben := managed(t, slacktest.Options{})
	v := r.modal(ben, secret)
	check.Contains(t, "the modal", v.Text(), "keep_last_n", "compaction.keep_last_n = 4 (built in)", "focus")
	check.Lacks(t, "the modal", v.Text(), "prompt_file", "worker_reasoning")

	v, open := r.submitted(ben, map[string]string{"keep_last_n": "many", "focus": "prices"})
	check.That(t, open, "the modal is open")
	check.Equal(t, "errors", len(v.Errors), 1)
	check.Contains(t, "the error", v.Errors["keep_last_n"], "Nothing was changed", "keep_last_n")
	check.Lacks(t, "what is set", r.run(secret, ben, "/settings").String(), "prices")

	_, open = r.submitted(ben, map[string]string{"keep_last_n": "30", "focus": `"prices" and names`})
	check.That(t, !open, "the modal is closed")
	check.Contains(t, "what is set", r.run(secret, ben, "/settings").String(), "compaction.keep_last_n = 30 (set here by ben)", `compaction.focus = "\"prices\" and names" (set here by ben)`)
	home, _ := r.w.Home(ben)
	r.republished(ben, slacktest.View{}, "From now on: compaction.keep_last_n = 30 (set here by ben)")

	check.Contains(t, "the modal", r.modal(ben, secret).Text(), "compaction.keep_last_n = 30 (set here by ben)")
	r.run(secret, ben, "/settings compaction.pin_budget 500") // while the modal is open
	_, open = r.submitted(ben, map[string]string{"keep_last_n": ""})
	check.That(t, !open, "the modal is closed")
	r.republished(ben, home, "From now on: compaction.keep_last_n = 4 (built in)")
	now := r.run(secret, ben, "/settings").String()
	check.Contains(t, "what is set", now, "compaction.keep_last_n = 4 (built in)", "compaction.pin_budget = 500 (set here", "names")

	r.modal(ben, secret)
	_, open = r.submitted(ben, nil)
	check.That(t, !open, "a modal without changes is closed")
}

func TestOnlyManagersGetSettings(t *testing.T) {
	r, secret, ben := managed(t, slacktest.Options{})
	ann := r.w.AddUser("ann")
	r.w.Join(secret, ann)
	check.Lacks(t, "the Home tab", r.opened(ann, "What I keep about you").Text(), "summarized")
	of := r.opened(ben, "summarized")
	before, _ := r.w.Home(ann)
	r.choose(ann, of, secret)
	r.republished(ann, before, "/settings is only for people who manage this place. Ask one of them.")
	_, open := r.w.Modal(ann)
	check.That(t, !open, "no modal opens")

	r.modal(ben, secret)
	r.w.Leave(secret, ben) // an admin is no member
	v, open := r.submitted(ben, map[string]string{"keep_last_n": "30"})
	check.That(t, open, "the modal is open")
	check.Equal(t, "the error", v.Errors["keep_last_n"], textUnreadable)
	check.Lacks(t, "what is set", r.run(secret, ben, "/settings").String(), "set here")
	r.w.Join(secret, ben)
	silent := r.w.AddPrivateChannel("silent", ben)
	of = r.opened(ben, "summarized")
	r.choose(ben, of, silent)
	r.republished(ben, of, textNothing)
}

func TestManagersNamedInTheSettingsFileGetSettings(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{TriggerTime: time.Minute}, answerN)
	r.Rules = access.Rules{Access: map[string]access.Access{Name: {Managers: []string{ann}}}}
	r.tune = func(s *Slack) { s.times.modal = 15 * time.Second }
	r.begin()
	r.remember(general, ann, "ann", "the launch is on Friday")
	r.modal(ann, general)
}

func TestAModalThatComesTooLate(t *testing.T) {
	r, secret, ben := managed(t, slacktest.Options{TriggerTime: time.Nanosecond})
	of := r.opened(ben, "summarized")
	r.choose(ben, of, secret)
	r.republished(ben, of, textSlow)
}

// Slack waits 3 s for the acknowledgement of a submission, however long it takes to find out what it may change.
func TestASubmissionIsAcknowledgedInTime(t *testing.T) {
	r, secret, ben := managed(t, slacktest.Options{})
	r.modal(ben, secret)
	r.end() // the modal stays open
	r.tune = func(s *Slack) {
		s.times.home = time.Millisecond
		s.times.modal = time.Millisecond
	}
	r.begin()
	r.w.Fail(slacktest.Fault{Of: "users.conversations", Delay: time.Second})
	home, _ := r.w.Home(ben)
	_, open := r.submitted(ben, map[string]string{"keep_last_n": "many"})
	check.That(t, !open, "the modal is closed")
	v := r.republished(ben, home, "Nothing was changed.")
	check.That(t, strings.Contains(v.Text(), "keep_last_n"), "the Home tab has the error: %s", v.Text())
}
