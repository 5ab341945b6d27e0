// People, kinds of conversations, and what an archived channel still takes.
package slacktest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"cairn/slack/slacktest"
)

func TestArchivedChannelsAreReadOnly(t *testing.T) {
	s := start(t, calm())
	ann := s.AddUser("ann")
	general := s.AddChannel("general", ann)
	said := s.Say(slacktest.Post{Channel: general, User: ann, Text: "before"})
	conn := dial(t, s)
	read(t, conn)
	s.Archive(general, ann)
	if e := read(t, conn); e.Payload.Event.Type != "channel_archive" || e.Payload.Event.Channel != general {
		t.Errorf("told of %+v", e)
	}
	api := client(t, s)
	post := func() error {
		_, _, err := api.PostMessage(general, slack.MsgOptionText("x", false))
		return err
	}
	if err := post(); code(err) != "is_archived" {
		t.Errorf("a post: %v", err)
	}
	if err := api.AddReaction("eyes", slack.NewRefToMessage(general, said)); code(err) != "is_archived" {
		t.Errorf("a reaction: %v", err)
	}
	if c, err := api.GetConversationInfo(&slack.GetConversationInfoInput{ChannelID: general}); err != nil || !c.IsArchived {
		t.Errorf("the channel is %+v, %v", c, err)
	}
	if page, err := api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: general}); err != nil || len(page.Messages) != 1 {
		t.Errorf("the history: %+v, %v", page, err)
	}
	for exclude, want := range map[bool]int{true: 0, false: 1} {
		if all, _, err := api.GetConversationsForUser(&slack.GetConversationsForUserParameters{ExcludeArchived: exclude}); err != nil || len(all) != want {
			t.Errorf("with exclude_archived %v: %d channels, %v", exclude, len(all), err)
		}
	}
	s.Unarchive(general, ann)
	if err := post(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestGroupsOfSeveralPeople(t *testing.T) {
	s := start(t, calm())
	ann, bob := s.AddUser("ann"), s.AddUser("bob")
	group := s.AddGroupDM(ann, bob)
	api := client(t, s)
	conn := dial(t, s)
	read(t, conn)
	s.Say(slacktest.Post{Channel: group, User: ann, Text: "hello"})
	if kind := string(s.Deliveries()[0].Payload); !strings.Contains(kind, `"channel_type":"mpim"`) {
		t.Errorf("told of %s", kind)
	}
	c, err := api.GetConversationInfo(&slack.GetConversationInfoInput{ChannelID: group})
	if err != nil || !c.IsMpIM || c.IsIM || !c.IsPrivate || c.Name != "mpdm-app--ann--bob-1" || group[0] == 'D' {
		t.Errorf("the group is %+v, %v", c, err)
	}
	for _, people := range [][]string{{ann, bob}, {bob, ann}} {
		if opened, _, _, err := api.OpenConversation(&slack.OpenConversationParameters{Users: people}); err != nil || opened.ID != group {
			t.Errorf("opening it again: %+v, %v", opened, err)
		}
	}
	if _, _, _, err := api.OpenConversation(&slack.OpenConversationParameters{Users: slices.Repeat([]string{ann}, 9)}); code(err) != "too_many_users" {
		t.Errorf("nine people: %v", err)
	}
	if all, _, err := api.GetConversations(&slack.GetConversationsParameters{Types: []string{"mpim"}}); err != nil || len(all) != 1 || all[0].ID != group {
		t.Errorf("the list has %+v, %v", all, err)
	}
	if _, _, err := api.GetConversations(&slack.GetConversationsParameters{Types: []string{"clubs"}}); code(err) != "invalid_types" {
		t.Errorf("an unknown kind: %v", err)
	}
}

func TestListsHavePages(t *testing.T) {
	s := start(t, calm())
	ann := s.AddUser("ann")
	s.Admin(ann)
	var joined []string
	for i := range 7 {
		c := s.AddChannel(fmt.Sprint("c", i), ann)
		if i%2 == 0 {
			s.Leave(c, slacktest.BotUserID)
			continue
		}
		joined = append(joined, c)
	}
	joined = append(joined, s.DM(ann))
	api := client(t, s)

	t.Run("of the app's own conversations", func(t *testing.T) {
		var got []string
		p := slack.GetConversationsForUserParameters{Types: []string{"public_channel", "im"}, Limit: 3}
		for {
			page, next, err := api.GetConversationsForUser(&p)
			if err != nil || len(page) > 3 {
				t.Fatalf("%d channels, %v", len(page), err)
			}
			for _, c := range page {
				got = append(got, c.ID)
			}
			if p.Cursor = next; next == "" {
				break
			}
		}
		if calls := len(s.Calls("users.conversations")); !slices.Equal(got, joined) || calls != 2 {
			t.Errorf("got %v in %d pages, want %v in 2", got, calls, joined)
		}
	})

	t.Run("of people, who are admins or not", func(t *testing.T) {
		people, err := api.GetUsers(slack.GetUsersOptionLimit(1))
		if err != nil || len(people) != 2 || !people[0].IsBot || people[0].IsAdmin || people[1].ID != ann || !people[1].IsAdmin {
			t.Errorf("got %+v, %v", people, err)
		}
		if calls := len(s.Calls("users.list")); calls != 2 {
			t.Errorf("%d pages", calls)
		}
	})
}
