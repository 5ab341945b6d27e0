package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cairn/channel/access"
	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/llm"
	"cairn/store"
)

// /model: which model answers, and which one people want.

// Models are the models that may answer in a conversation.
type Models struct {
	Own      llm.Model       // of the agent in the settings
	Answers  llm.Model       // while its server works: Own, or one of Choices
	Choices  []Model         // that may take its place
	Chosen   store.Override  // what people chose, by its name; without a value: nothing
	Refused  bool            // the settings do not allow it any more, so Own answers
	Fallback *report.StandIn // which other model answers now; nil: none
}

// Model is a model that people may choose.
type Model struct {
	Name  string // in the settings
	Model llm.Model
}

// runModel shows which model answers and which may be chosen, or chooses one.
func runModel(ctx context.Context, c *Call) (Answer, error) {
	models, err := c.Conversation.Models(ctx)
	switch {
	case err != nil:
		return Answer{}, err
	case c.Args != "":
		return chooseModel(ctx, c, models)
	}
	return listModels(ctx, c, models), nil
}

func listModels(ctx context.Context, c *Call, models Models) Answer {
	names := namesWithWindows(ctx, models)
	now := 0 // index of the one that answers
	if models.Answers != models.Own {
		now = 1 + slices.IndexFunc(models.Choices, func(m Model) bool { return m.Model == models.Answers })
	}
	answer := Answer{Text: c.Speaker.Sayf("%s answers here.", names[now])}
	if models.Refused {
		answer.Text += " " + c.Speaker.Sayf("My settings file no longer allows %s, which %s chose.", models.Chosen.Value, c.chooser(models.Chosen))
	} else if now > 0 {
		answer.Text += " " + c.Speaker.Sayf("%s chose it.", c.chooser(models.Chosen))
	}
	if models.Fallback != nil {
		answer.Text += "\n" + models.Fallback.Text(c.Speaker)
	}
	if len(models.Choices) == 0 {
		answer.Text += "\n" + c.Speaker.Sayf("No other model may be chosen: the setting %s in my settings file lists none.", "`models`")
		return answer
	}
	answer.Text += "\n" + c.Speaker.Sayf("`/model NAME` chooses a model for this conversation, from the next message on; `/model %s` goes back:", resetValue)
	choices := append([]Model{{resetValue, models.Own}}, models.Choices...)
	names[0] = c.Speaker.Sayf("%s, the default", names[0])
	for i, choice := range choices {
		if i > 0 && choice.Model == models.Own {
			continue
		}
		name := names[i]
		if i == now {
			name = c.Speaker.Sayf("%s: answers here", name)
		}
		answer.Items = append(answer.Items, name)
		answer.Lines = append(answer.Lines, "/model "+choice.Name)
	}
	return answer
}

// chooser returns who chose a model.
func (c *Call) chooser(chosen store.Override) string {
	if chosen.By == "" {
		return c.Speaker.Sayf("somebody")
	}
	return chosen.By
}

// namesWithWindows returns the names of the agent's own model and of the choices: "qwen3 (32k)". Their servers are asked in parallel, and only once.
func namesWithWindows(ctx context.Context, models Models) []string {
	names := make([]string, 1+len(models.Choices))
	var asking sync.WaitGroup
	asking.Go(func() {
		window := models.Own.Window(ctx) // before the name: if no setting names a model, this chooses one
		names[0] = report.NameOf(models.Own.Name(), window.Tokens)
	})
	for i, m := range models.Choices {
		asking.Go(func() { names[i+1] = report.NameOf(m.Name, m.Model.Window(ctx).Tokens) })
	}
	asking.Wait()
	return names
}

func chooseModel(ctx context.Context, c *Call, models Models) (Answer, error) {
	if !c.Rules.Trusts(c.Records.Name(), c.Who) {
		return Answer{}, denial("In a direct message, the owners and managers named in my settings file decide which model answers.")
	}
	model, err := SetModel(ctx, c.Records, models, c.Args, c.Who)
	if p, ok := sentences.ProblemOf(err); ok {
		return Answer{}, sentences.NewProblem(c.Speaker.Translate(p.Text) + c.Speaker.Sayf(" /model lists them."))
	}
	if err != nil {
		return Answer{}, err
	}
	c.Log.Info("channel_model_chosen", "model", model.Name(), "by", c.Who.ID)
	c.Conversation.AgentChanged()
	window := model.Window(ctx)
	return Answer{Text: c.Speaker.Sayf("From the next message on, %s answers here.", report.NameOf(model.Name(), window.Tokens))}, nil
}

// SetModel chooses one of the models for a conversation, by its name or resetValue, and returns it. Its error is a sentences.Problem if there
// is no such model. The conversation does not notice the change by itself.
func SetModel(ctx context.Context, records *store.Conversation, models Models, name string, by access.Person) (llm.Model, error) {
	to := Model{Model: models.Own}
	i := slices.IndexFunc(models.Choices, func(c Model) bool { return strings.EqualFold(c.Name, name) })
	switch {
	case i >= 0:
		to = models.Choices[i]
	case !strings.EqualFold(name, resetValue) && !strings.EqualFold(name, models.Own.Name()):
		return nil, sentences.NewProblem(fmt.Sprintf("There is no model named %q to choose.", name))
	}
	return to.Model, records.Settings().SetModel(ctx, to.Name, by.Typist())
}

// Names returns what may follow /model: the names of the choices, and the way back; none if there are no choices.
func (m Models) Names() (names []string) {
	for _, c := range m.Choices {
		names = append(names, c.Name)
	}
	if len(names) > 0 {
		names = append(names, resetValue)
	}
	return names
}

// suggestModels offers the models that contain what was typed, and the way back.
func suggestModels(ctx context.Context, typing Typing) (all []Choice, err error) {
	models, err := typing.Models(ctx)
	for _, name := range models.Names() {
		if len(all) < maxChoices && strings.Contains(strings.ToLower(name), strings.ToLower(strings.TrimSpace(typing.Text))) {
			all = append(all, Choice{Label: name, Value: name})
		}
	}
	return all, err
}
