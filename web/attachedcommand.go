// A command at a bot that another process runs.

package web

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/sentences"
	"cairn/connector/terminal"
)

// Command runs a command. ErrLost: it was not run. If the bot is lost while it runs, it is not repeated, because it may have been done.
func (a *Attached) Command(ctx context.Context, conversation string, who access.Person, line string) (answer command.Answer, err error) {
	if err := a.enter(ctx, conversation); err != nil {
		return answer, err
	}
	within, end := context.WithCancel(ctx) // the second answer is read after this call
	stop := context.AfterFunc(a.ctx, end)
	done := func() {
		stop()
		end()
	}
	lines, first, err := a.begin(within, conversation, commandNew{line, who.Name})
	if err != nil || !first.More {
		done()
	}
	p, refused := errors.AsType[*Problem](err)
	dial, unreached := errors.AsType[*net.OpError](err)
	switch {
	case ctx.Err() != nil:
		return answer, ctx.Err()
	case refused:
		return answer, p
	case unreached && dial.Op == "dial":
		return answer, lostBy(err)
	case err != nil:
		return answer, errors.New(sentences.In(a.Language(conversation)).Translate(terminal.TextLostCommand))
	}
	answer = first.Answer
	if first.More {
		answer.Then = func(context.Context) command.Answer {
			defer done()
			var last commandLine
			if err := lines.Decode(&last); err != nil {
				return command.Answer{Text: sentences.In(answer.Language).Translate(terminal.TextLostCommand), Language: answer.Language}
			}
			return last.Answer
		}
	}
	return answer, nil
}

// begin sends a command, and returns its first answer, and what comes behind it.
func (a *Attached) begin(ctx context.Context, conversation string, c commandNew) (lines *json.Decoder, first commandLine, err error) {
	resp, err := a.client.send(ctx, http.MethodPost, apiOf(conversation)+"/commands", nil, c)
	if err != nil {
		return nil, first, err
	}
	context.AfterFunc(ctx, func() { _ = resp.Body.Close() })
	lines = json.NewDecoder(resp.Body)
	err = lines.Decode(&first)
	return lines, first, err
}
