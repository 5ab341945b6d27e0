package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cairn/channel"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/memory"
	"cairn/simulate"
	"cairn/store"
)

// What a conversation shows of its past, compared with what a question needs.

// searched is how many results a search of memories or messages returns.
const searched = 10

// retain imports a recording and returns the sums over its questions.
func retain(ctx context.Context, r recording, window int) (k keeping, err error) {
	agent := agentOf(llm.NewOffline(window), nil)
	b, err := openBot(ctx, "", channel.Options{Agent: func(string) channel.Agent { return agent }})
	if err != nil {
		return k, err
	}
	defer func() { err = errors.Join(err, b.store.close()) }()
	name := "bench:retention/" + r.name
	_, err = b.hub.Import(ctx, name, r.said, func(channel.ImportProgress) {})
	err = errors.Join(err, b.hub.Close(), b.connector.failure)
	if err != nil {
		return k, err
	}
	conv, err := b.store.Conversation(ctx, name)
	if err != nil {
		return k, err
	}
	v, err := look(ctx, conv, agent, r)
	if err != nil {
		return k, err
	}
	k.Name = r.name
	for _, q := range r.asked {
		if q.Category == simulate.NoAnswer || len(q.seqs) == 0 || q.seqs[len(q.seqs)-1] >= v.first {
			continue
		}
		if err := v.ask(ctx, conv, q, &k); err != nil {
			return k, err
		}
	}
	return k, nil
}

// promptContent is what a request shows of a recording.
type promptContent struct {
	recording recording
	first     int64           // seq of the first verbatim message
	said      map[string]bool // all terms in the request
	covered   *simulate.Told  // what the summaries contain

	slidingFirst int64 // the same for a sliding window
	slidingSaid  map[string]bool
}

func look(ctx context.Context, conv *store.Conversation, agent channel.Agent, r recording) (*promptContent, error) {
	now, err := channel.ReadContext(ctx, conv, agent)
	if err != nil {
		return nil, err
	}
	v := &promptContent{recording: r, first: int64(len(r.said) - now.Verbatim + 1)}
	var texts []string
	for _, stone := range now.Stack {
		texts = append(texts, stone.Text)
	}
	v.covered = simulate.NewTold(rarity(r), texts...)
	request, err := requestOf(ctx, conv, now.Max)
	if err != nil {
		return nil, err
	}
	v.said = simulate.SetOf(words.Content(simulate.WithoutCitations(request)))
	v.slide(now.Max - now.Parts.Frame - now.Parts.Reserve)
	return v, nil
}

// requestOf returns the text of the next request in a conversation.
func requestOf(ctx context.Context, conv *store.Conversation, window int) (string, error) {
	c, err := compactor.Open(ctx, compactor.Options{
		Records: memory.Of(conv).Records(), Policy: compactor.DefaultPolicy, Window: func() int { return window }, Log: discardLog,
	})
	if err != nil {
		return "", err
	}
	defer c.Close()
	p, err := c.Request(ctx)
	var b strings.Builder
	for _, m := range p.Messages {
		b.WriteString(m.Text + "\n")
	}
	return b.String(), err
}

// slide fills a sliding window with the newest lines that fit.
func (v *promptContent) slide(room int) {
	var b strings.Builder
	all := v.recording.said
	v.slidingFirst = int64(len(all) + 1)
	for i := len(all) - 1; i >= 0; i-- {
		text := fmt.Sprintf("%s: %s", all[i].Author, body(all[i]))
		if room -= tokens.Estimate(text + "\n"); room < 0 {
			break
		}
		v.slidingFirst = int64(i + 1)
		b.WriteString(text + "\n")
	}
	v.slidingSaid = simulate.SetOf(words.Content(b.String()))
}

// ask adds to k how much of what a question needs is available.
func (v *promptContent) ask(ctx context.Context, conv *store.Conversation, q asked, k *keeping) error {
	memories, _, err := memory.Of(conv).List(ctx, memory.Filter{Query: q.Text, Limit: searched})
	if err != nil {
		return err
	}
	question := v.recording.question(q.Text)
	question.Limit = searched
	messages, err := memory.Of(conv).Recall(ctx, question)
	if err != nil {
		return err
	}
	var remembered, recalled strings.Builder
	found := map[int64]bool{}
	recall := map[int64]bool{}
	for _, m := range memories {
		fmt.Fprintf(&remembered, "%s (%s)\n", m.Content, m.SaidAt.Format("2006-01-02"))
		for _, seq := range m.Sources {
			found[seq] = true
		}
	}
	for _, m := range messages {
		fmt.Fprintf(&recalled, "%s %s: %s\n", m.Time.Format("2006-01-02"), m.Author, m.Body())
		recall[m.Seq] = true
	}
	k.Questions++
	need := words.Content(q.AnswerText())
	slides := func(seq int64) bool { return seq >= v.slidingFirst }
	for _, way := range []struct {
		sum   *simulate.Share
		said  map[string]bool
		more  string
		there func(seq int64) bool
	}{
		{&k.Sliding, v.slidingSaid, "", slides},
		{&k.Context, v.said, "", v.tells},
		{&k.Memories, v.said, remembered.String(), func(seq int64) bool { return found[seq] || v.tells(seq) }},
		{&k.Transcript, v.said, recalled.String(), func(seq int64) bool { return recall[seq] || v.tells(seq) }},
	} {
		more := simulate.SetOf(words.Content(way.more))
		way.sum.Ask(need, func(term string) bool { return way.said[term] || more[term] }, q.seqs, way.there)
	}
	return nil
}

// tells reports whether a summary contains a sentence of a message.
func (v *promptContent) tells(seq int64) bool {
	u := v.recording.said[seq-1]
	return v.covered.Tells(u.Author, u.Text)
}

// rarity returns the weight of each term of a recording.
func rarity(r recording) simulate.Rarity {
	var bodies []string
	for _, u := range r.said {
		bodies = append(bodies, body(u))
	}
	return simulate.RarityOf(bodies)
}

// body returns the text of a message, with the captions of its pictures.
func body(m store.Inbound) string {
	return chat.Message{Text: m.Text, Attachments: m.Attachments}.Body()
}
