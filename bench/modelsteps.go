package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/channel"
	"cairn/channel/access"
)

// step runs one turn, with the actions of people that accompany it.
func (b *trialRun) step(ctx context.Context, turn int) error {
	model := func(turn int) string { return b.modelTrial.models[turn*len(b.modelTrial.models)/b.turns] }
	if turn > 0 && (turn == b.turns/3 || turn == 2*b.turns/3) {
		if err := b.restart(ctx, model(turn-1)); err != nil {
			return err
		}
	}
	if turn > 0 && model(turn) != model(turn-1) {
		b.headChanged()
		b.mu.Lock()
		b.now = b.agent(model(turn))
		b.mu.Unlock()
		b.hub.Renew(access.Rules{})
	}
	if turn%4 == 1 {
		if _, err := b.hear(ctx, text(b.dice, 5+b.dice.IntN(40)), false); err != nil {
			return err
		}
	}
	if turn%12 == 10 {
		b.mu.Lock()
		b.due = append(b.due, removed(&b.asked, len(b.asked)-1-turn%3)...)
		b.mu.Unlock()
	}
	if err := b.ask(ctx, turn); err != nil {
		return err
	}
	return b.editAndDelete(ctx, turn)
}

// restart closes the bot and opens it again while no request is running: the server would count an
// interrupted request, but Cairn could not.
func (b *trialRun) restart(ctx context.Context, model string) error {
	if err := b.rest(ctx); err != nil {
		return err
	}
	if err := b.hub.Close(); err != nil {
		return err
	}
	b.hub = nil
	if err := b.closeStores(); err != nil {
		return err
	}
	return b.open(ctx, model)
}

// rest waits until no summary is running: closing would cancel summaries that can wait.
func (b *trialRun) rest(ctx context.Context) error {
	for still := 0; still < 3; {
		answer, _, err := b.hub.Run(ctx, modelsPlace, access.Person{ID: "1", Name: "Ada", Manager: true}, "/context")
		if err != nil {
			return err
		}
		still++
		if !strings.Contains(answer.Text, "running   nothing") {
			still = 0
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return b.hub.Drain(ctx)
}

// hear delivers a message and returns its id.
func (b *trialRun) hear(ctx context.Context, said string, addressed bool) (id string, err error) {
	b.said++
	id = fmt.Sprint("m", b.said)
	_, err = b.hub.Deliver(ctx, modelsPlace, channel.Inbound{
		ID: id, AuthorID: "1", Author: "Ada", Text: said, Time: time.Now(), Addressed: addressed,
	})
	return id, err
}

// ask asks a question and waits for its answer.
func (b *trialRun) ask(ctx context.Context, turn int) error {
	limit, cancel := context.WithTimeout(ctx, turnTakes)
	defer cancel()
	question := fmt.Sprintf("%s%d: %s", modelAsks, turn, text(b.dice, 10+b.dice.IntN(80)))
	if turn%3 == 1 {
		question += " " + []string{asksRecall, asksSearch, asksSave}[turn/3%3] + " that."
	}
	id, err := b.hear(limit, question, true)
	if err != nil {
		return err
	}
	b.asked = append(b.asked, id)
	if err := b.hub.Idle(limit, modelsPlace); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	b.connector.note(func() {
		if b.connector.failure == nil && !b.connector.replies[id].at.IsZero() {
			b.answered++
			return
		}
		b.failed = append(b.failed, fmt.Sprintf("turn %d was not answered: %v", turn, b.connector.failure))
		b.connector.failure = nil
	})
	return nil
}

// editAndDelete edits and deletes messages now and then.
func (b *trialRun) editAndDelete(ctx context.Context, turn int) error {
	if turn%9 == 4 {
		b.headChanged()
		in := channel.Inbound{ID: b.asked[len(b.asked)-1], Text: "I mean something else: " + text(b.dice, 30), Time: time.Now()}
		if err := b.hub.Edit(ctx, modelsPlace, in); err != nil {
			return err
		}
	}
	var ids []string
	if turn%7 == 5 { // the answer remains, next to the previous one
		ids = append(ids, removed(&b.asked, len(b.asked)-1-turn%3)...)
	}
	if turn%11 == 6 {
		ids = append(ids, removed(&b.imported, b.dice.IntN(max(len(b.imported), 1)))...)
	}
	if turn == b.turns/2 || turn == b.turns/2+3 { // the first remaining message
		ids = append(ids, removed(&b.imported, 0)...)
	}
	return b.deleteAll(ctx, ids)
}

func (b *trialRun) deleteAll(ctx context.Context, ids []string) error {
	for _, id := range ids {
		b.headChanged()
		if err := b.hub.Delete(ctx, modelsPlace, id); err != nil {
			return err
		}
	}
	return nil
}

// removed removes the id at i, at least the first one, from ids, and returns it; none if there are
// too few.
func removed(ids *[]string, i int) []string {
	i = max(i, 0)
	if i >= len(*ids) {
		return nil
	}
	id := (*ids)[i]
	*ids = append((*ids)[:i:i], (*ids)[i+1:]...)
	return []string{id}
}
