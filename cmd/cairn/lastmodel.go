// The model of a conversation, for a command in a shell that does not know it: the environment of the bot may name a
// model and a key, and that of another shell none.

package main

import (
	"context"
	"errors"

	"cairn/llm"
	"cairn/store"
)

// modelOf returns the model that the settings and the environment name. If they name none, or its window can only be
// guessed and it answered last, modelOf returns the model that answered last, with the window it had then, if that is known.
func modelOf(ctx context.Context, conversation *store.Conversation, configured llm.Model) (llm.Model, error) {
	_, offline := configured.(*llm.Offline)
	if !offline && configured.Window(ctx).Source != llm.GuessedWindow.Source {
		return configured, nil
	}
	name, last, err := conversation.Turns().LastModel(ctx)
	if err != nil || name == "" || !offline && name != configured.Name() {
		return configured, err
	}
	answered := &answeredModel{name: name, window: llm.Window{Tokens: last.Window, Source: "the last answer"}}
	answered.learned.Learn(func(f *llm.Facts) { f.Factor = last.Factor })
	return answered, nil
}

// answeredModel is a model that has answered. This process cannot ask it anything.
type answeredModel struct {
	name    string
	window  llm.Window
	learned llm.Learned
}

var (
	_ llm.Model   = (*answeredModel)(nil)
	_ llm.Learner = (*answeredModel)(nil)
)

func (a *answeredModel) Name() string { return a.name }

func (a *answeredModel) Window(context.Context) llm.Window { return a.window }

func (a *answeredModel) Learned() *llm.Learned { return &a.learned }

// Generate returns an error.
func (a *answeredModel) Generate(context.Context, llm.Request, func(string)) (llm.Response, error) {
	return llm.Response{}, errors.New(a.name + ": this command asks no model")
}
