package channel_test

import (
	"strings"
	"testing"

	"cairn/channel"
	"cairn/words/wordstest"
)

// FuzzCommand sends any line, as an ordinary person and as a manager: it is not a command, or its
// answer is text for people.
func FuzzCommand(f *testing.F) {
	for _, c := range channel.Commands {
		for _, args := range []string{"", "1", "-1", "#9223372036854775808", "x", "1 2 3", "me everywhere", "compaction.keep_last_n 7", "pin 1", "kind:x page:0", "everywhere"} {
			f.Add("/"+c.Name+" "+args, "x")
		}
		f.Add(" /"+strings.ToUpper(c.Name)+"\t\n1", c.Name)
	}
	for _, text := range wordstest.Texts() {
		f.Add("/recall "+text, text)
		f.Add("/"+text, text)
	}
	r := newRig(f, echo)
	r.say("the plum is ripe", false)
	r.idle()
	f.Fuzz(func(t *testing.T, line, typed string) {
		for _, who := range []channel.Person{{ID: "u5", Name: typed}, {ID: "u6", Name: typed, Manager: true}} {
			answer, handled, err := r.hub.Run(t.Context(), place, who, line)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if handled != channel.IsCommand(line) || handled && answer.String() == "" && answer.Then == nil {
				t.Fatalf("%q: handled %v, %+v", line, handled, answer)
			}
			for page := range answer.Pages() {
				_ = answer.Page(page)
			}
		}
		if _, err := r.hub.Suggest(t.Context(), place, channel.Person{ID: "u5"}, line, typed); err != nil {
			t.Fatalf("suggestions for %q: %v", line, err)
		}
	})
}
