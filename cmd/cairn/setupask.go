// Questions that cairn setup asks at a terminal.

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/term"
)

type dialogue struct {
	app *app
	fd  int
	in  *bufio.Reader
}

// line asks for a line and trims it. At the end of the input it returns errAborted, and without a
// terminal the name of the flag that answers.
func (d *dialogue) line(ctx context.Context, flag, prompt string) (string, error) {
	return d.wait(ctx, flag, prompt, func() (string, error) { return d.in.ReadString('\n') })
}

func (d *dialogue) secret(ctx context.Context, flag, prompt string) (string, error) {
	return d.wait(ctx, flag, prompt, func() (string, error) {
		text, err := term.ReadPassword(d.fd)
		fmt.Fprintln(d.app.out) // the Enter key was not echoed either
		return string(text), err
	})
}

// wait runs read until ctx ends, and then restores the terminal. A read cannot be interrupted: its
// goroutine ends with the program.
func (d *dialogue) wait(ctx context.Context, flag, prompt string, read func() (string, error)) (string, error) {
	if d == nil {
		return "", usage(fmt.Errorf("standard input is not a terminal, so setup cannot ask: pass %s", flag))
	}
	fmt.Fprint(d.app.out, prompt)
	before, err := term.GetState(d.fd)
	if err != nil {
		return "", err
	}
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := read()
		answered <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(d.app.out)
		return "", errors.Join(context.Cause(ctx), term.Restore(d.fd, before))
	case a := <-answered:
		if errors.Is(a.err, io.EOF) {
			return "", errAborted
		}
		return strings.TrimSpace(a.text), a.err
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
		n, _ := strconv.Atoi(text)
		for i, c := range choices {
			if n == i+1 || strings.EqualFold(text, c.name) {
				return c.name, nil
			}
		}
		prompt = fmt.Sprintf("Enter a number from 1 to %d: ", len(choices))
	}
}
