package chat_test

import (
	"testing"

	"cairn/chat"
	"cairn/testkit/check"
)

func TestParsePlace(t *testing.T) {
	for name, c := range map[string]struct {
		want   chat.Place
		direct bool
	}{
		"discord:1/2":        {chat.Place{Connector: "discord", Server: "1", Channel: "2"}, false},
		"discord:1/2/3":      {chat.Place{Connector: "discord", Server: "1", Channel: "2", Thread: "3"}, false},
		"discord:@me/2":      {chat.Place{Connector: "discord", Server: chat.DirectServer, Channel: "2"}, true},
		"slack:T1/D1/17.5":   {chat.Place{Connector: "slack", Server: "T1", Channel: "D1", Thread: "17.5"}, true},
		"slack:T1/C1":        {chat.Place{Connector: "slack", Server: "T1", Channel: "C1"}, false},
		"discord:1/D2":       {chat.Place{Connector: "discord", Server: "1", Channel: "D2"}, false},
		"terminal:garden":    {chat.Place{Connector: "terminal", Server: "garden"}, false},
		"terminal:":          {chat.Place{Connector: "terminal"}, false},
		"web:me/a/b/c of it": {chat.Place{Connector: "web", Server: "me", Channel: "a", Thread: "b/c of it"}, false},
	} {
		got := chat.ParsePlace(name)
		check.Equal(t, name, got, c.want)
		check.Equal(t, name+": direct", got.Direct(), c.direct)
		check.Equal(t, name+": joined again", got.String(), name)
	}
}

func TestPlaceLabel(t *testing.T) {
	for want, parts := range map[string][3]string{
		"plans in #general · Cozy Corner": {"plans", "general", "Cozy Corner"},
		"#general · Cozy Corner":          {"", "general", "Cozy Corner"},
		"#general":                        {"", "general", ""},
		"plans · Cozy Corner":             {"plans", "", "Cozy Corner"},
		"Cozy Corner":                     {"", "", "Cozy Corner"},
		"":                                {"", "", ""},
	} {
		check.Equal(t, want, chat.PlaceLabel(parts[0], parts[1], parts[2]), want)
	}
}
