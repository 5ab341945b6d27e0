package slack

import (
	"fmt"
	"testing"

	"cairn/channel/command"
	"cairn/chat"
)

// shown is what Slack gets of an answer.
func shown(page int, a command.Answer) any {
	c := typed{place: chat.Place{Connector: Name, Server: "T1", Channel: "C1", Thread: "1700000000.000100"}, line: "/memories tea", page: page}
	text, all := blocks(c, a)
	return map[string]any{"text": text, "blocks": all}
}

func TestAnswersAreRendered(t *testing.T) {
	list := command.Answer{Text: "12 memories:", Language: "en"}
	for n := range 12 {
		list.Items = append(list.Items, fmt.Sprintf("(%d) fact: <tea> & no. %d", n+1, n))
		list.Lines = append(list.Lines, fmt.Sprintf("/memories show %d", n+1))
	}
	saved := command.Answer{
		Text: "Saved as memory 1: tea", Language: "en",
		Buttons: []command.Button{{Label: "Forget", Line: "/forget 1"}, {Label: "Sources", Line: "/sources 1", Beside: true}},
	}
	checkGolden(t, "testdata/answers.json", []any{shown(0, list), shown(1, list), shown(0, saved), shown(0, command.Answer{Text: "Done."})})
}
