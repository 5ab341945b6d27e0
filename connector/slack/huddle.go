// Huddles: Slackbot posts a message without a text, whose room says who talks (no document describes it; as seen in events of 2025).

package slack

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/connector/platform"
)

// room is a huddle.
type room struct {
	Creator string   `json:"created_by"`
	Started float64  `json:"date_start"` // Unix time
	Ended   float64  `json:"date_end"`   // 0: it goes on
	Who     []string `json:"participant_history"`
}

// huddles are the subtypes of messages about a huddle; the second one has no thread.
var huddles = []string{"huddle_thread", "sh_room_created"}

func (m message) isHuddle() bool { return m.Room != nil && slices.Contains(huddles, m.SubType) }

const maxTalking = 10 // names in the text

// text describes the huddle in a line: "[huddle: started by <@U1>, 12 minutes, with <@U2>]".
func (r room) text() string {
	var about []string
	if r.Creator != "" {
		about = append(about, "started by "+mentionOf(r.Creator))
	}
	if r.Ended > r.Started && r.Started > 0 {
		about = append(about, lasted(time.Duration(r.Ended-r.Started)*time.Second))
	}
	others := slices.DeleteFunc(slices.Clone(r.Who), func(id string) bool { return id == r.Creator })
	var names []string
	for _, id := range others[:min(len(others), maxTalking)] {
		names = append(names, mentionOf(id))
	}
	if more := len(others) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		about = append(about, "with "+strings.Join(names, ", "))
	}
	if len(about) == 0 {
		return "[huddle]"
	}
	return "[huddle: " + strings.Join(about, ", ") + "]"
}

func mentionOf(id string) string { return "<@" + platform.Short(escape(id), 30) + ">" }

// lasted returns a duration in words.
func lasted(d time.Duration) string {
	minutes := int(d.Round(time.Minute) / time.Minute)
	hours := minutes / 60
	switch {
	case minutes < 1:
		return "less than a minute"
	case minutes == 1:
		return "1 minute"
	case hours < 1:
		return fmt.Sprintf("%d minutes", minutes)
	}
	return fmt.Sprintf("%d h %d min", hours, minutes%60)
}
