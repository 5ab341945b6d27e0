// The dialogue of cairn setup: questions in their order, and the way back.

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"cairn/config"
)

// dialogue asks questions at a terminal.
type dialogue struct {
	tty   *os.File // the terminal; nil: there is none, so setup asks nothing
	in    *bufio.Reader
	out   func(text string)
	again bool // the question was asked or answered before: flags and the environment answer nothing
}

// question is a step of the dialogue. It asks one thing at most, and checks the answer.
type question struct {
	applies func() bool
	ask     func(ctx context.Context) error
}

// errBack is returned by a question whose answer is "back".
var errBack = errors.New("back to the previous question")

// hold asks the questions that apply. At a terminal a question is repeated until its answer is good, and
// "back" returns to the one before.
func (d *dialogue) askAll(ctx context.Context, questions []question) error {
	for i := 0; i < len(questions); {
		if !questions[i].applies() {
			i++
			continue
		}
		err := questions[i].ask(ctx)
		switch {
		case err == nil:
			d.again = false
			i++
			continue
		case errors.Is(err, errBack):
			i = d.before(questions, i)
		case d.tty == nil || ctx.Err() != nil || errors.Is(err, errAborted):
			return err
		default:
			d.say("✗ %v", err)
		}
		d.again = true
	}
	return nil
}

// before returns the question before the one at i.
func (d *dialogue) before(questions []question, i int) int {
	for before := i - 1; before >= 0; before-- {
		if questions[before].applies() {
			return before
		}
	}
	d.say("This is the first question.")
	return i
}

// say prints a line, without secrets and control characters.
func (d *dialogue) say(format string, args ...any) { d.out(fmt.Sprintf(format, args...) + "\n") }

// line asks for a line and trims it. At the end of the input it returns errAborted, for "back" errBack, and
// without a terminal the name of the flag that answers.
func (d *dialogue) line(ctx context.Context, flag, prompt string) (string, error) {
	return d.ask(ctx, flag, prompt, func() (string, error) { return d.in.ReadString('\n') })
}

// hidden is line, but the terminal does not show the answer.
func (d *dialogue) hidden(ctx context.Context, flag, prompt string) (string, error) {
	return d.ask(ctx, flag, prompt, func() (string, error) {
		text, err := term.ReadPassword(int(d.tty.Fd()))
		d.say("") // the Enter key was not echoed either
		return string(text), err
	})
}

// ask runs read until ctx ends. A read cannot be interrupted: its goroutine ends with the program.
func (d *dialogue) ask(ctx context.Context, flag, prompt string, read func() (string, error)) (string, error) {
	if d.tty == nil {
		return "", usage(fmt.Errorf("standard input is not a terminal, so setup cannot ask: pass %s", flag))
	}
	d.out(prompt)
	before, err := term.GetState(int(d.tty.Fd()))
	if err != nil {
		return "", err
	}
	text := ""
	answered := make(chan error, 1)
	go func() {
		var err error
		text, err = read()
		answered <- err
	}()
	select {
	case <-ctx.Done():
		d.say("")
		return "", errors.Join(context.Cause(ctx), term.Restore(int(d.tty.Fd()), before))
	case err := <-answered:
		if errors.Is(err, io.EOF) {
			return "", errAborted
		}
		text = strings.TrimSpace(text)
		if low := strings.ToLower(text); err == nil && (low == "back" || low == "b") {
			return "", errBack
		}
		return text, err
	}
}

// option is one answer among several.
type option struct{ name, help string }

// choose asks for one of the choices, by number or name, until the answer is valid.
func (d *dialogue) choose(ctx context.Context, flag, question string, choices []option) (string, error) {
	prompt := "\n" + question + "\n"
	for i, c := range choices {
		prompt += fmt.Sprintf("  %d  %-10s %s\n", i+1, c.name, c.help)
	}
	prompt += "> "
	for {
		text, err := d.line(ctx, flag, prompt)
		if err != nil {
			return "", err
		}
		for i, c := range choices {
			if text == strconv.Itoa(i+1) || strings.EqualFold(text, c.name) {
				return c.name, nil
			}
		}
		prompt = fmt.Sprintf("Enter a number from 1 to %d: ", len(choices))
	}
}

// secret reads a secret and registers it for masking; "" if there is none.
func (s *setup) secret(ctx context.Context, from source, prompt string) (value string, err error) {
	value = strings.TrimSpace(os.Getenv(from.variable))
	switch {
	case from.given != "" && !s.again:
		var plain bool
		value, plain, err = new(config.Settings).Resolve(from.given)
		if plain {
			err = errors.New(`pass a secret as "file:PATH" or "env:NAME": process lists show arguments`)
		}
		if err != nil {
			err = usage(fmt.Errorf("%s: %w", from.flag, err))
		}
	case value != "" && !s.again:
		s.say("Using %s.", from.variable)
	default:
		if from.variable != "" {
			from.flag += ", or set " + from.variable
		}
		value, err = s.hidden(ctx, from.flag, prompt)
	}
	s.app.secrets.learn(value)
	return value, err
}
