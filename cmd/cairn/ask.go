// cairn ask: one question and its answer, for scripts.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"cairn/connector/terminal"
)

func newAsk(a *app) *cobra.Command {
	o := terminal.Options{}
	cmd := &cobra.Command{
		Use:   "ask [--channel NAME] [--user NAME] QUESTION...",
		Short: "Ask one question, and print the answer",
		Long: `Ask the bot one question in one of the terminal's channels, and print the answer. The words of
the question are joined; "-" stands for what standard input contains. The conversation continues
where it stopped, and the bot saves the question like any message in cairn chat. A bot that runs
already answers it.

Standard output has the answer and nothing else. Exit code 1: there is no answer, or a command is
refused; standard error says why. Open tasks of other agents and unfinished compactions resume at
the next start.`,
		Example: `  cairn ask "When do we meet?"
  git diff | cairn ask --channel reviews "What does this change?" -`,
		Args: args(1, -1),
		RunE: func(cmd *cobra.Command, words []string) error { return a.ask(cmd, o, words) },
	}
	cmd.Flags().StringVar(&o.Channel, "channel", defaultChannel, "`NAME` of the channel")
	cmd.Flags().StringVar(&o.User, "user", cmp.Or(os.Getenv("USER"), "you"), "`NAME` of the person who asks")
	return cmd
}

// maxQuestion limits what is read from standard input, in bytes, as a line of cairn chat is limited.
const maxQuestion = 4 << 20

func (a *app) ask(cmd *cobra.Command, o terminal.Options, words []string) (err error) {
	o.Question, err = a.question(words)
	if err != nil {
		return err
	}
	o.Out = a.out
	o.Err = a.err
	connector, err := terminal.New(o)
	if err != nil {
		return usage(err)
	}
	a.terminal.Store(connector)
	return a.talk(cmd.Context(), connector, a.logger(a.err, slog.LevelError), func(context.Context, *bot) {})
}

// question returns the words as a text, with the standard input in place of "-".
func (c *console) question(words []string) (string, error) {
	for i, word := range words {
		if word != "-" {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(c.in, maxQuestion+1))
		if err != nil {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		if len(text) > maxQuestion {
			return "", usage(errors.New("standard input has more than 4 MB: ask about a part of it"))
		}
		words[i] = "\n\n" + strings.ToValidUTF8(strings.TrimPrefix(string(text), "\ufeff"), "\uFFFD") + "\n\n"
	}
	question := strings.TrimSpace(strings.Join(words, " "))
	if question == "" {
		return "", usage(errors.New("the question is empty"))
	}
	return question, nil
}
