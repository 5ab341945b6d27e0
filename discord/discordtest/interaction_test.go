// Interactions by the bare library: deadlines, deferral, buttons, autocomplete.
package discordtest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
)

// served is a town with /help registered and a session that hands on what it is
// asked.
func served(t *testing.T, o discordtest.Options) (*town, *discordgo.Session, <-chan *discordgo.Interaction) {
	t.Helper()
	if o.AnswerWithin == 0 {
		o.AnswerWithin = patience
	}
	v := newTown(t, o)
	asked := make(chan *discordgo.Interaction, 10)
	s, _ := v.opened(func(s *discordgo.Session) {
		s.AddHandler(func(_ *discordgo.Session, i *discordgo.InteractionCreate) { asked <- i.Interaction })
	})
	topic := &discordgo.ApplicationCommandOption{
		Type: discordgo.ApplicationCommandOptionString, Name: "topic", Description: "what about", Autocomplete: true,
	}
	help := &discordgo.ApplicationCommand{Name: "help", Description: "helps", Options: []*discordgo.ApplicationCommandOption{topic}}
	if _, err := s.ApplicationCommandBulkOverwrite(v.Bot.ID, v.guild.ID, []*discordgo.ApplicationCommand{help}); err != nil {
		t.Fatal(err)
	}
	return v, s, asked
}

func respond(s *discordgo.Session, i *discordgo.Interaction, kind discordgo.InteractionResponseType, d *discordgo.InteractionResponseData) error {
	return s.InteractionRespond(i, &discordgo.InteractionResponse{Type: kind, Data: d})
}

func edit(s *discordgo.Session, i *discordgo.Interaction, content string) error {
	_, err := s.InteractionResponseEdit(i, &discordgo.WebhookEdit{Content: &content})
	return err
}

const (
	withMessage = discordgo.InteractionResponseChannelMessageWithSource
	deferred    = discordgo.InteractionResponseDeferredChannelMessageWithSource
	ephemeral   = discordgo.MessageFlagsEphemeral
)

func TestACommandIsDeferredThenAnswered(t *testing.T) {
	v, s, asked := served(t, discordtest.Options{})
	v.Permit(v.guild.ID, v.person.ID, "Annie", "8")
	i := v.Slash(v.channel, v.person.ID, "help", discordtest.Option{Name: "topic", Value: "cats"})
	got := receive(v, asked)
	data := got.ApplicationCommandData()
	if data.Name != "help" || data.Options[0].StringValue() != "cats" || got.Member.Permissions != 8 || got.Member.User.ID != v.person.ID {
		t.Errorf("the interaction is %+v, %+v", got, data)
	}
	refused(t, edit(s, got, "too early"), http.StatusNotFound, 10015)
	if err := respond(s, got, deferred, &discordgo.InteractionResponseData{Flags: ephemeral}); err != nil {
		t.Fatal(err)
	}
	refused(t, respond(s, got, deferred, nil), http.StatusBadRequest, 40060)
	for _, content := range []string{"first", "last"} {
		if err := edit(s, got, content); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.FollowupMessageCreate(got, true, &discordgo.WebhookParams{Content: "more"}); err != nil {
		t.Error(err)
	}
	is := v.Interaction(i.ID)
	if !is.Ephemeral || is.Answer == nil || is.Answer.Content != "last" || is.Answer.Flags != discordtest.FlagEphemeral {
		t.Errorf("the answer is %+v of %+v, want an ephemeral last", is.Answer, is)
	}
	if len(is.Followups) != 1 || is.Followups[0].Content != "more" {
		t.Errorf("followups %+v", is.Followups)
	}
	if sent := v.Sent(v.channel); len(sent) != 1 || sent[0].Content != "more" {
		t.Errorf("the channel has %+v, want only what is not ephemeral", sent)
	}
}

func TestADeferredAnswerIsLoading(t *testing.T) {
	v, s, asked := served(t, discordtest.Options{})
	flags := make(chan discordgo.MessageFlags, 10)
	s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) { flags <- m.Flags })
	s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageUpdate) { flags <- m.Flags })
	i := v.Slash(v.channel, v.person.ID, "help")
	got := receive(v, asked)
	if err := respond(s, got, deferred, nil); err != nil {
		t.Fatal(err)
	}
	is, loading := v.Interaction(i.ID), v.Messages(v.channel)
	if !is.Loading || is.Answer != nil || len(loading) != 1 || loading[0].Flags != discordtest.FlagLoading || len(v.Sent(v.channel)) != 0 {
		t.Errorf("deferred: %+v with the messages %+v", is, loading)
	}
	if m, err := s.InteractionResponse(got); err != nil || m.Flags != discordgo.MessageFlagsLoading {
		t.Errorf("the response is %+v, %v", m, err)
	}
	if _, err := s.FollowupMessageCreate(got, true, &discordgo.WebhookParams{Content: "done", Flags: ephemeral}); err != nil {
		t.Fatal(err)
	}
	is = v.Interaction(i.ID)
	if sent := v.Sent(v.channel); is.Loading || len(is.Followups) != 0 || len(sent) != 1 || sent[0].ID != loading[0].ID || sent[0].Flags != 0 {
		t.Errorf("a follow-up to a deferral completes it: %+v with %+v", is, sent)
	}
	if a, b := receive(v, flags), receive(v, flags); a != discordgo.MessageFlagsLoading || b != 0 {
		t.Errorf("told of flags %d and %d, want loading and then none", a, b)
	}
	v.Slash(v.channel, v.person.ID, "help")
	got = receive(v, asked)
	refused(t, respond(s, got, deferred, &discordgo.InteractionResponseData{Flags: 1 << 2}), http.StatusBadRequest, 50035)
}

func TestInteractionsExpire(t *testing.T) {
	t.Parallel()
	t.Run("unanswered within their time", func(t *testing.T) {
		v, s, asked := served(t, discordtest.Options{AnswerWithin: time.Nanosecond})
		v.Slash(v.channel, v.person.ID, "help")
		refused(t, respond(s, receive(v, asked), deferred, nil), http.StatusNotFound, 10062)
	})
	t.Run("answered, when their token is old", func(t *testing.T) {
		v, s, asked := served(t, discordtest.Options{TokenLife: time.Nanosecond})
		v.Slash(v.channel, v.person.ID, "help")
		i := receive(v, asked)
		if err := respond(s, i, deferred, nil); err != nil {
			t.Fatal(err)
		}
		refused(t, edit(s, i, "x"), http.StatusUnauthorized, 50027)
	})
}

func TestButtonsTurnPages(t *testing.T) {
	v, s, asked := served(t, discordtest.Options{})
	v.Slash(v.channel, v.person.ID, "help")
	next := discordgo.ActionsRow{Components: []discordgo.MessageComponent{discordgo.Button{Label: "next", CustomID: "page-2"}}}
	page := func(content string) *discordgo.InteractionResponseData {
		return &discordgo.InteractionResponseData{Content: content, Flags: ephemeral, Components: []discordgo.MessageComponent{next}}
	}
	first := receive(v, asked)
	if err := respond(s, first, withMessage, page("page 1")); err != nil {
		t.Fatal(err)
	}
	shown := v.Interaction(first.ID).Answer
	v.Click(v.channel, v.person.ID, shown.ID, "page-2")
	second := receive(v, asked)
	if id := second.MessageComponentData().CustomID; id != "page-2" || second.Message == nil {
		t.Errorf("pressed %q on %+v", id, second.Message)
	}
	if err := respond(s, second, discordgo.InteractionResponseUpdateMessage, page("page 2")); err != nil {
		t.Error(err)
	}
	if now := v.Interaction(first.ID).Answer; now.Content != "page 2" {
		t.Errorf("the message shows %q", now.Content)
	}
}

func TestAutocomplete(t *testing.T) {
	v, s, asked := served(t, discordtest.Options{})
	ask := func() *discordgo.Interaction {
		v.Autocomplete(v.channel, v.person.ID, "help", discordtest.Option{Name: "topic", Value: "c", Focused: true})
		return receive(v, asked)
	}
	complete := func(i *discordgo.Interaction, n int) error {
		choices := make([]*discordgo.ApplicationCommandOptionChoice, n)
		for k := range choices {
			choices[k] = &discordgo.ApplicationCommandOptionChoice{Name: "cats", Value: "cats"}
		}
		kind := discordgo.InteractionApplicationCommandAutocompleteResult
		return respond(s, i, kind, &discordgo.InteractionResponseData{Choices: choices})
	}
	i := ask()
	refused(t, respond(s, i, deferred, nil), http.StatusBadRequest, 50035)
	refused(t, complete(i, 26), http.StatusBadRequest, 50035)
	if err := complete(i, 25); err != nil || len(v.Interaction(i.ID).Choices) != 25 {
		t.Errorf("%v, %+v", err, v.Interaction(i.ID))
	}
}
