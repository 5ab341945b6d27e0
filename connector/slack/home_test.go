// The Home tab: what a person sees there, and what comes of what they press.

package slack

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

// homeRig is a bot with a Home tab, which is published without pauses.
func homeRig(t *testing.T, w slacktest.Options) (r *rig, general, ann string) {
	t.Helper()
	if w.TriggerTime == 0 {
		w.TriggerTime = time.Minute // a busy machine takes more than Slack's 3 s
	}
	r, general, ann = town(t, w, answerN)
	r.tune = func(s *Slack) {
		s.times.home = time.Millisecond
		s.times.modal = 15 * time.Second
	}
	r.begin()
	return r, general, ann
}

// remember has a person save a memory in a channel.
func (r *rig) remember(channelID, person, name, text string) {
	r.T.Helper()
	answer, _, err := r.Hub.Run(r.T.Context(), conversation(channelID), access.Person{ID: person, Name: name}, "/remember "+text)
	check.NoError(r.T, err)
	check.Contains(r.T, "the memory", answer.Text, text)
}

// opened has a person open the Home tab, and returns it once it shows a text.
func (r *rig) opened(person, text string) slacktest.View {
	r.T.Helper()
	before, _ := r.w.Home(person)
	r.w.OpenHome(person)
	return r.republished(person, before, text)
}

// republished waits until another view than before shows a text.
func (r *rig) republished(person string, before slacktest.View, text string) (v slacktest.View) {
	r.T.Helper()
	there := check.Soon(func() bool {
		v, _ = r.w.Home(person)
		return v.Hash != before.Hash && strings.Contains(v.Text(), text)
	})
	check.Require(r.T, there, "the Home tab never shows %q, but\n%s\n%s", text, v.Text(), &r.Log)
	return v
}

// pressed has a person press a button of a view, and returns the next view, once it shows a text.
func (r *rig) pressed(person string, v slacktest.View, block, action, text string) slacktest.View {
	r.T.Helper()
	before, _ := r.w.Home(person)
	r.w.PressView(person, v, block, homePrefix+"_"+action)
	return r.republished(person, before, text)
}

func TestTheHomeTabShowsWhatIsKept(t *testing.T) {
	r, general, ann := homeRig(t, slacktest.Options{})
	ben := r.w.AddUser("ben")
	r.w.Join(general, ben)
	v := r.opened(ann, "I have no memories about you from places that you may read.")
	check.Lacks(t, "what who manages nothing sees", v.Text(), "summarized")
	r.remember(general, ann, "ann", "the launch is on Friday")
	r.remember(general, ben, "ben", "the cake is at noon")
	r.remember(r.w.DM(ann), ann, "ann", "the code name is Kiwi")
	r.remember(r.w.DM(ann)+"/1700000000.000100", ann, "ann", "the number is 7")
	v = r.opened(ann, "the launch is on Friday")
	check.Contains(t, "the view", v.Text(), "the code name is Kiwi", "the number is 7", "our direct messages", "<#"+general+">", "0 messages and 3 memories of yours, in all")
	check.Lacks(t, "the view", v.Text(), "cake")

	v = r.pressed(ann, v, "memory-1", "pin", "Memory 1 is pinned")
	v = r.pressed(ann, v, "memory-1", "unpin", "Memory 1 is no longer pinned")
	before := v
	v = r.pressed(ann, v, "memory-1", "forget", "Memory 1 is forgotten")
	check.Lacks(t, "what is left", v.Text(), "(1) fact")
	r.pressed(ann, before, "memory-1", "forget", "Memory 1 is forgotten, so this changes nothing.")
	check.Lacks(t, "what is left", r.run(general, ann, "/memories").String(), "launch")

	r.end() // the buttons are data: another process knows them
	r.begin()
	v = r.pressed(ann, v, "notice", "answer_0", "Memory 1 is restored")
	check.Contains(t, "what is there again", v.Text(), "(1) fact: the launch is on Friday")
	v = r.pressed(ann, v, "memory-3", "forget", "Memory 3 is forgotten")
	check.Contains(t, "her memory of a direct message", v.Text(), "Memory 3 is forgotten: the code name is Kiwi")
}

func TestWhoHasLeftAPrivateChannelSeesNothingOfIt(t *testing.T) {
	r, general, ann := homeRig(t, slacktest.Options{})
	secret := r.w.AddPrivateChannel("secret", ann)
	r.remember(secret, ann, "ann", "the safe is behind the door")
	r.remember(general, ann, "ann", "the launch is on Friday")
	v := r.opened(ann, "the safe is behind the door")
	r.w.Leave(secret, ann)
	now := r.pressed(ann, v, "memory-1", "pin", textUnreadable)
	check.Lacks(t, "the view", now.Text(), "safe")
	now = r.pressed(ann, v, "memory-1", "forget", textUnreadable)
	check.Contains(t, "the view", now.Text(), "the launch is on Friday", "2 memories of yours")
	check.Lacks(t, "the view", now.Text(), "safe")
	check.Contains(t, "what stays as it was", r.run(secret, ann, "/memories").String(), "the safe is behind the door")
	check.Lacks(t, "what stays as it was", r.run(secret, ann, "/memories").String(), "pinned")
	check.Lacks(t, "what she sees later", r.opened(ann, "Friday").Text(), "safe")

	r.w.Fail(slacktest.Fault{Of: "users.conversations", Error: "access_denied"})
	r.w.Fail(slacktest.Fault{Of: "users.conversations", Error: "access_denied"})
	unasked := r.opened(ann, "Slack did not say which places you may read")
	check.Lacks(t, "without an answer of Slack", unasked.Text(), "Friday")
	r.w.Fail(slacktest.Fault{Of: "users.conversations", Error: "access_denied"})
	r.w.Fail(slacktest.Fault{Of: "users.conversations", Error: "access_denied"})
	r.pressed(ann, v, "memory-2", "forget", textUnasked)
	check.Contains(t, "what stays as it was", r.run(general, ann, "/memories").String(), "Friday")
}

func TestTheHomeTabHasPages(t *testing.T) {
	r, general, ann := homeRig(t, slacktest.Options{})
	for i := range 2*homeMemories + 1 {
		r.remember(general, ann, "ann", fmt.Sprintf("room %d is blue", i+1))
	}
	v := r.opened(ann, "(page 1 of 3)")
	check.Equal(t, "memories", strings.Count(v.Text(), "is blue"), homeMemories)
	check.Contains(t, "the newest", v.Text(), "room 21 is blue")
	v = r.pressed(ann, v, "pages", "next", "(page 2 of 3)")
	last := r.pressed(ann, v, "pages", "next", "(page 3 of 3)")
	check.Contains(t, "the oldest", last.Text(), "room 1 is blue")
	left := r.pressed(ann, last, "memory-1", "forget", "(page 2 of 2)")
	check.Contains(t, "what is shown after the last page has gone", left.Text(), "room 2 is blue")
	r.pressed(ann, left, "pages", "previous", "(page 1 of 2)")
}

func TestForgettingFromTheHomeTab(t *testing.T) {
	r, general, ann := homeRig(t, slacktest.Options{})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "The launch is on Friday."})
	r.stored(conversation(general), "user: The launch is on Friday.")
	r.remember(general, ann, "ann", "the launch is on Friday")
	v := r.opened(ann, "1 message and 1 memory of yours")
	asks := string(check.Must(v.Blocks.MarshalJSON())(t))
	check.Contains(t, "the dialog", asks, "This permanently deletes 1 message and 1 memory of yours")
	v = r.pressed(ann, v, "optout", "optout", "I save no memories of what you write, and none about you.")
	check.Contains(t, "after the switch", v.Text(), "I have removed what was shown here.", "Allow memories about me")
	check.Lacks(t, "after the switch", v.Text(), "Friday")
	v = r.pressed(ann, v, "optout", "optout", "I may save memories of what you write again")
	v = r.pressed(ann, v, "forget_me", "forget_me", "Deleted: everything of yours across all our conversations.")
	check.Contains(t, "the view", v.Text(), "I have removed what was shown here.")
	check.Lacks(t, "the view", v.Text(), "Friday")
	check.Lacks(t, "what is stored", r.run(general, ann, "/memories").String(), "Friday")
	r.opened(ann, "I have nothing from you across all our conversations.")
}

func TestCommandsTakeTheirTextsFromTheHomeTab(t *testing.T) {
	for claim, line := range map[string]string{"/forget me": "forget me yes", "/optout": "optout", "/forget": "forget 1"} {
		t.Run(claim, func(t *testing.T) {
			r, general, ann := homeRig(t, slacktest.Options{})
			r.remember(general, ann, "ann", "the launch is on Friday")
			v := r.opened(ann, "Friday")
			r.w.Command(general, ann, "/cairn", line)
			now := r.republished(ann, v, "I have removed what was shown here.")
			check.Lacks(t, "the view", now.Text(), "Friday")
			r.awaitPrivate(general, ann, 1)
		})
	}
}

func TestAnAppWithoutAHomeTabWorks(t *testing.T) {
	r, general, ann := homeRig(t, slacktest.Options{NoHomeTab: true})
	r.remember(general, ann, "ann", "the launch is on Friday")
	r.w.Command(general, ann, "/cairn", "optout")
	check.Contains(t, "the answer", r.awaitPrivate(general, ann, 1).Shown(), "I save no memories")
	r.eventually("Slack says that there is no Home tab", func() bool { return r.connector.home.off.Load() })
	r.w.Command(general, ann, "/cairn", "forget me yes")
	r.eventually("it is deleted", func() bool { return strings.Contains(r.awaitPrivate(general, ann, 2).Shown(), "Deleted") })
	check.Equal(t, "publications", r.w.Seen("views.publish"), 1)
	check.Lacks(t, "the log", r.Log.String(), "publish_home_failed")
}

func TestAViewThatAnotherProcessHasReplacedIsMadeAnew(t *testing.T) {
	r, general, ann := homeRig(t, slacktest.Options{})
	r.remember(general, ann, "ann", "the launch is on Friday")
	v := r.opened(ann, "Friday")
	other := slackgo.HomeTabViewRequest{Type: slackgo.VTHomeTab, Blocks: slackgo.Blocks{BlockSet: []slackgo.Block{paragraph("of another process")}}}
	check.Must(r.connector.api.read.PublishView(ann, other, ""))(t)
	calls := r.w.Seen("views.publish")
	r.pressed(ann, v, "memory-1", "pin", "Memory 1 is pinned")
	check.Equal(t, "publications: one is refused", r.w.Seen("views.publish")-calls, 2)
}

func TestManyOpeningsOfTheTabAreFewPublications(t *testing.T) {
	r, _, ann := town(t, slacktest.Options{}, answerN)
	r.tune = func(s *Slack) { s.times.home = time.Hour }
	r.begin()
	for range 20 {
		r.w.OpenHome(ann)
	}
	r.eventually("all are acknowledged", func() bool {
		return !slices.ContainsFunc(r.w.Deliveries(), func(d slacktest.Delivery) bool { return d.Acked.IsZero() })
	})
	r.eventually("the tab is published", func() bool { _, ok := r.w.Home(ann); return ok })
	check.Equal(t, "publications", r.w.Seen("views.publish"), 1)
}

func TestButtonsOfAnotherVersionInTheHomeTab(t *testing.T) {
	r, _, ann := homeRig(t, slacktest.Options{})
	r.opened(ann, "What I keep about you")
	old := slackgo.HomeTabViewRequest{Type: slackgo.VTHomeTab, Blocks: slackgo.Blocks{BlockSet: []slackgo.Block{
		slackgo.NewActionBlock("old", button("dance", "Dance", homeValue{Line: "/dance"}), slackgo.NewButtonBlockElement("other", "?", plain("Other"))),
	}}}
	for _, action := range []string{homePrefix + "_dance", "other"} {
		check.Must(r.connector.api.read.PublishView(ann, old, ""))(t)
		v, _ := r.w.Home(ann)
		r.w.PressView(ann, v, "old", action)
		r.republished(ann, v, command.TextNoButton)
	}
}

// Slack sends an event to any of the processes, one of which answers.
func TestTheHomeTabInAProcessThatStandsBy(t *testing.T) {
	r, _, ann := town(t, slacktest.Options{}, answerN)
	r.Lease = func(s *store.Store) *store.Lease {
		on := []store.Account{{Connector: Name}}
		check.Must(s.Processes().Join(t.Context(), store.Process{Name: "host:1", Connectors: on}, time.Hour))(t)
		return check.Must(s.Processes().Join(t.Context(), store.Process{Name: "host:2", Connectors: on}, time.Hour))(t)
	}
	r.tune = func(s *Slack) { s.times.home = time.Millisecond }
	r.begin()
	r.eventually("it stands by", func() bool { return strings.Contains(r.Log.String(), "standing_by") })
	r.opened(ann, "I have no memories about you from places that you may read.")
}

func TestTheHomeTabOfWhoIsNotHeard(t *testing.T) {
	r, general, ann := homeRig(t, slacktest.Options{})
	r.remember(general, ann, "ann", "the launch is on Friday")
	v := r.opened(ann, "Friday")
	r.Hub.Renew(access.Rules{Access: map[string]access.Access{Name: {Deny: []string{ann}}}})
	now := r.pressed(ann, v, "memory-1", "forget", command.TextRefused)
	check.Lacks(t, "the view", now.Text(), "Friday")
	r.pressed(ann, v, "optout", "optout", command.TextRefused)
}

// The settings may let the bot listen in some channels only.
func TestTheHomeTabWhereDirectMessagesAreNotHeard(t *testing.T) {
	r, general, ann := homeRig(t, slacktest.Options{})
	r.remember(general, ann, "ann", "the launch is on Friday")
	r.Hub.Renew(access.Rules{Access: map[string]access.Access{Name: {Allow: []string{general}}}})
	v := r.opened(ann, "Friday")
	r.pressed(ann, v, "optout", "optout", "I save no memories of what you write")
}

func TestAHomeTabThatCannotBePublishedIsLoggedOnce(t *testing.T) {
	r, _, ann := homeRig(t, slacktest.Options{})
	r.w.Fail(slacktest.Fault{Of: "views.publish", Times: 2, Error: "invalid_arguments"})
	for n := range 2 {
		r.w.OpenHome(ann)
		r.eventually("it is refused", func() bool { return len(r.w.Calls("views.publish")) > n })
	}
	r.opened(ann, "What I keep about you")
	r.eventually("the log has the end", func() bool { return strings.Contains(r.Log.String(), "publish_home_recovered") })
	check.Equal(t, "warnings", strings.Count(r.Log.String(), "level=WARN msg=publish_home_failed"), 1)
}
