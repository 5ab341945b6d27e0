package main

import (
	"fmt"
	"path"
	"strings"
	"time"

	"cairn/chat"
	"cairn/testkit/discordtest"
	"cairn/testkit/slacktest"
)

// side is the double of a platform, with people in four places. All ids are the platform's.
type side interface {
	settings() string      // of the connector
	environment() []string // its tokens
	places() []string      // names of conversations, without the connector: two channels, the direct messages of Ann, a thread
	say(place, author, text string, asks bool) (id string)
	edit(place, id, text string, asks bool)
	remove(place, id string)
	posted() map[string]string // texts of the bot's messages that people see, by id
	connections() int          // of all processes so far
	Close()
}

// sides opens the double of each platform.
var sides = map[string]func() side{"discord": newDiscordSide, "slack": newSlackSide}

// answerDelay is how long a platform takes to respond to a post, which has taken effect immediately.
const answerDelay = 40 * time.Millisecond

type discordSide struct {
	*discordtest.Server
	people map[string]string // ids, by name
	all    []string          // the places
}

func newDiscordSide() side {
	d := discordtest.New(discordtest.Options{RefusePings: true, IdentifyLimit: 1_000_000})
	ann := d.User("Ann")
	ben := d.User("Ben")
	town := d.Guild("Town", ann, ben).ID
	square := town + "/" + d.Channel(town, "square").ID
	garden := town + "/" + d.Channel(town, "garden").ID
	plans := square + "/" + d.Thread(path.Base(square), ann.ID, "plans").ID
	direct := chat.DirectServer + "/" + d.Direct(ann.ID).ID
	d.Fail(discordtest.Fault{Of: "POST /channels/*/messages", Times: -1, Done: true, Delay: answerDelay})
	return &discordSide{d, map[string]string{"Ann": ann.ID, "Ben": ben.ID}, []string{square, garden, direct, plans}}
}

func (d *discordSide) settings() string      { return fmt.Sprintf("[discord]\napi_base = %q\n", d.URL) }
func (d *discordSide) environment() []string { return []string{"DISCORD_TOKEN=token"} }
func (d *discordSide) places() []string      { return d.all }

func (d *discordSide) say(place, author, text string, asks bool) string {
	return d.Say(path.Base(place), d.people[author], d.addressed(place, text, asks)).ID
}

func (d *discordSide) edit(place, id, text string, asks bool) {
	d.Edit(path.Base(place), id, d.addressed(place, text, asks))
}

func (d *discordSide) remove(place, id string) { d.Delete(path.Base(place), id) }

func (d *discordSide) addressed(place, text string, asks bool) string {
	if asks && !strings.HasPrefix(place, chat.DirectServer) {
		return "<@" + d.Bot.ID + "> " + text
	}
	return text
}

func (d *discordSide) posted() map[string]string {
	all := map[string]string{}
	for _, place := range d.all {
		for _, m := range d.Sent(path.Base(place)) {
			if !m.Deleted {
				all[m.ID] = m.Content
			}
		}
	}
	return all
}

func (d *discordSide) connections() (n int) {
	for _, c := range d.Connections() {
		if c.Identify {
			n++
		}
	}
	return n
}

type slackSide struct {
	*slacktest.Server
	people map[string]string // ids, by name
	all    []string          // the places; the thread is under the first message
}

func newSlackSide() side {
	s := slacktest.New(slacktest.Options{
		Minute:    time.Second, // a new process does not know of the requests of the last one
		Redeliver: []time.Duration{0, 2 * time.Second, 8 * time.Second},
	})
	ann := s.AddUser("Ann")
	ben := s.AddUser("Ben")
	var all []string
	for _, id := range []string{s.AddChannel("square", ann, ben), s.AddChannel("garden", ann, ben), s.DM(ann)} {
		all = append(all, slacktest.TeamID+"/"+id)
	}
	for _, method := range []string{"chat.postMessage", "chat.update", "chat.startStream", "chat.stopStream"} {
		s.Fail(slacktest.Fault{Of: method, Times: -1, Done: true, Delay: answerDelay})
	}
	return &slackSide{s, map[string]string{"Ann": ann, "Ben": ben}, all}
}

func (s *slackSide) settings() string { return fmt.Sprintf("[slack]\napi_base = %q\n", s.APIURL) }

func (s *slackSide) environment() []string {
	return []string{"SLACK_BOT_TOKEN=" + slacktest.BotToken, "SLACK_APP_TOKEN=" + slacktest.AppToken}
}

func (s *slackSide) places() []string { return s.all }

func (s *slackSide) say(place, author, text string, asks bool) string {
	at := chat.ParsePlace("slack:" + place)
	ts := s.Say(slacktest.Post{Channel: at.Channel, Thread: at.Thread, User: s.people[author], Text: s.addressed(at, text, asks)})
	if len(s.all) == 3 {
		s.all = append(s.all, place+"/"+ts)
	}
	return ts
}

func (s *slackSide) edit(place, id, text string, asks bool) {
	at := chat.ParsePlace("slack:" + place)
	s.Edit(at.Channel, id, s.addressed(at, text, asks))
}

func (s *slackSide) remove(place, id string) {
	s.Delete(chat.ParsePlace("slack:"+place).Channel, id)
}

func (s *slackSide) addressed(at chat.Place, text string, asks bool) string {
	if asks && !at.Direct() {
		return "<@" + slacktest.BotUserID + "> " + text
	}
	return text
}

func (s *slackSide) posted() map[string]string {
	all := map[string]string{}
	for _, m := range s.Posted() {
		if m.OnlyFor == "" {
			all[m.TS] = m.Text
		}
	}
	return all
}

func (s *slackSide) connections() int { return s.Seen("apps.connections.open") }
