package main

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"cairn/chat"
	"cairn/testkit/discordtest"
	"cairn/testkit/slacktest"
)

// venue is the double of a platform with many channels.
type venue interface {
	settings() string
	address() string // in the settings
	environment() []string
	places() []string
	say(place, author, text string, asks bool) (id string)
	shown(place string) []shown
	connections() int
	Close()
}

// shown is a message of the bot that people see in a place, or saw.
type shown struct {
	id, text string
	at       time.Time
	edited   *time.Time // last; nil: never, or the platform does not tell
	deleted  bool       // people do not see it any more
}

// venues opens the double of a platform with n channels; n is more than three.
var venues = map[string]func(n int) venue{"discord": manyOnDiscord, "slack": manyOnSlack}

// channelsPerServer is less than what Discord allows.
const channelsPerServer = 100

func manyOnDiscord(n int) venue {
	d := discordtest.New(discordtest.Options{RefusePings: true, IdentifyLimit: 1_000_000})
	ann := d.User("Ann")
	ben := d.User("Ben")
	side := &discordSide{Server: d, people: map[string]string{"Ann": ann.ID, "Ben": ben.ID}}
	town := ""
	for i := range n {
		if i%channelsPerServer == 0 {
			town = d.Guild(fmt.Sprint("Town ", i), ann, ben).ID
		}
		side.all = append(side.all, town+"/"+d.Channel(town, fmt.Sprint("room-", i)).ID)
	}
	d.Fail(discordtest.Fault{Of: "POST /channels/*/messages", Times: -1, Done: true, Delay: answerDelay})
	return side
}

func (d *discordSide) address() string { return d.URL }

func (s *slackSide) address() string { return s.APIURL }

func (d *discordSide) shown(place string) (all []shown) {
	for _, m := range d.Sent(path.Base(place)) {
		all = append(all, shown{m.ID, m.Content, m.Timestamp, m.EditedTimestamp, m.Deleted})
	}
	return all
}

func manyOnSlack(n int) venue {
	s := slacktest.New(slacktest.Options{Minute: time.Second})
	ann := s.AddUser("Ann")
	ben := s.AddUser("Ben")
	side := &slackSide{Server: s, people: map[string]string{"Ann": ann, "Ben": ben}}
	for i := range n {
		side.all = append(side.all, slacktest.TeamID+"/"+s.AddChannel(fmt.Sprint("room-", i), ann, ben))
	}
	for _, method := range []string{"chat.postMessage", "chat.update"} {
		s.Fail(slacktest.Fault{Of: method, Times: -1, Done: true, Delay: answerDelay})
	}
	return side
}

func (s *slackSide) shown(place string) (all []shown) {
	for _, m := range s.Messages(chat.ParsePlace("slack:" + place).Channel) {
		if m.BotID == slacktest.BotID && m.OnlyFor == "" {
			all = append(all, shown{id: m.TS, text: m.Shown(), at: slackTime(m.TS)})
		}
	}
	return all
}

// slackTime returns the moment of a timestamp, which is in seconds and microseconds.
func slackTime(ts string) time.Time {
	seconds, micros, _ := strings.Cut(ts, ".")
	s, _ := strconv.ParseInt(seconds, 10, 64)
	u, _ := strconv.ParseInt(micros, 10, 64)
	return time.Unix(s, u*1000)
}
