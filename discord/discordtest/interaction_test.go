// Interactions: deadlines, deferral, suggestions.
package discordtest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
	"cairn/internal/check"
)

// used is a town in which a person has used /help, with the paths that answer.
func used(t *testing.T, o discordtest.Options) (v *town, i discordtest.Interaction, callback, original string) {
	t.Helper()
	v = newTown(t, o)
	v.ask("PUT", "/applications/"+v.Bot.ID+"/commands", `[{"name":"help","description":"x","options":[{"type":3,"name":"topic","description":"x","autocomplete":true}]}]`)
	i = v.Slash(v.channel, v.person.ID, "help")
	return v, i, "/interactions/" + i.ID + "/" + i.Token + "/callback", "/webhooks/" + v.Bot.ID + "/" + i.Token + "/messages/@original"
}

const deferred = `{"type":5,"data":{"flags":64}}`

func TestACommandIsDeferredThenAnswered(t *testing.T) {
	v, i, callback, original := used(t, discordtest.Options{AnswerWithin: patience})
	v.refused(v.ask("PATCH", original, `{"content":"too early"}`), 404, 10015)
	v.refused(v.ask("POST", callback, `{"type":5,"data":{"flags":4}}`), 400, 50035)
	v.ask("POST", callback, deferred)
	if is := v.Interaction(i.ID); !is.Loading || is.Answer != nil {
		t.Errorf("deferred: %+v", is)
	}
	v.refused(v.ask("POST", callback, deferred), 400, 40060)
	v.ask("PATCH", original, `{"content":"first"}`)
	v.ask("PATCH", original, `{"content":"last"}`)
	v.ask("POST", strings.TrimSuffix(original, "/messages/@original"), `{"content":"more"}`)
	is := v.Interaction(i.ID)
	if !is.Ephemeral || is.Loading || is.Answer == nil || is.Answer.Content != "last" || is.Answer.Flags != discordgo.MessageFlagsEphemeral {
		t.Errorf("the answer is %+v of %+v, want an ephemeral last", is.Answer, is)
	}
	if sent := v.Sent(v.channel); len(is.Followups) != 1 || len(sent) != 1 || sent[0].Content != "more" {
		t.Errorf("the channel has %+v, want only what is not ephemeral", sent)
	}
}

func TestAFollowUpCompletesADeferral(t *testing.T) {
	v, i, callback, original := used(t, discordtest.Options{AnswerWithin: patience})
	v.ask("POST", callback, `{"type":5}`)
	v.ask("POST", strings.TrimSuffix(original, "/messages/@original"), `{"content":"done","flags":64}`)
	is := v.Interaction(i.ID)
	if sent := v.Sent(v.channel); is.Loading || len(is.Followups) != 0 || len(sent) != 1 || sent[0].Flags != 0 {
		t.Errorf("%+v with %+v", is, sent)
	}
}

func TestInteractionsExpire(t *testing.T) {
	t.Run("unanswered within their time", func(t *testing.T) {
		v, _, callback, _ := used(t, discordtest.Options{AnswerWithin: time.Nanosecond})
		v.refused(v.ask("POST", callback, deferred), 404, 10062)
	})
	t.Run("answered, when their token is old", func(t *testing.T) {
		v, _, callback, original := used(t, discordtest.Options{AnswerWithin: patience, TokenLife: time.Nanosecond})
		v.ask("POST", callback, deferred)
		v.refused(v.ask("PATCH", original, `{"content":"x"}`), 401, 50027)
	})
}

func TestSuggestionsAreJudged(t *testing.T) {
	v, _, _, _ := used(t, discordtest.Options{AnswerWithin: patience})
	i := v.Autocomplete(v.channel, v.person.ID, "help", discordtest.Option{Name: "topic", Value: "c", Focused: true})
	callback := "/interactions/" + i.ID + "/" + i.Token + "/callback"
	choices := func(n int) string {
		all, _ := json.Marshal(make([]struct{}, n))
		return fmt.Sprintf(`{"type":8,"data":{"choices":%s}}`, strings.ReplaceAll(string(all), "{}", `{"name":"cats","value":"cats"}`))
	}
	v.refused(v.ask("POST", callback, deferred), 400, 50035)
	v.refused(v.ask("POST", callback, choices(26)), 400, 50035)
	v.ask("POST", callback, choices(25))
	check.Equal(t, "choices", len(v.Interaction(i.ID).Choices), 25)
}
