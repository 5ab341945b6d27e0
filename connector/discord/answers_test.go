package discord

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"

	"cairn/channel/command"
	"cairn/testkit/check"
)

var update = flag.Bool("update", false, "write testdata/answers.json anew")

func TestAnswersAreRendered(t *testing.T) {
	const path = "testdata/answers.json"
	list := command.Answer{Text: "12 memories:", Language: "en"}
	for n := range 12 {
		list.Items = append(list.Items, fmt.Sprintf("(%d) fact: *tea* no. %d", n+1, n))
		list.Lines = append(list.Lines, fmt.Sprintf("/memories show %d", n+1))
	}
	saved := answerPost("Saved as memory 1: tea", 0, commandButtons([]command.Button{
		{Label: "Forget", Line: "/forget 1"}, {Label: "Sources", Line: "/sources 1", Beside: true},
	})...)
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	check.NoError(t, encoder.Encode([]any{page("/memories tea", list, 0), page("/memories tea", list, 1), saved}))
	if *update {
		check.NoError(t, os.WriteFile(path, got.Bytes(), 0o644))
	}
	check.Equal(t, path, got.String(), string(check.Must(os.ReadFile(path))(t)))
}
