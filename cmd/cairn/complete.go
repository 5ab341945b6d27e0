// Completion in the shell: the values of flags and arguments. What is stored is read beside a running bot, without a lock;
// where it cannot be read, there is nothing to complete.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn/channel/report"
	"cairn/chat"
	"cairn/compactor"
	"cairn/connector/terminal"
	"cairn/memory"
	"cairn/store"
)

// completions is what a shell may offer.
type completions = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective)

const (
	maxCompletions = 200 // more than anybody reads
	completionTime = 2 * time.Second
)

// choices are the values of flags that have only these. A flag that differs between commands has the command's name before it.
var choices = map[string][]string{
	"log-level":         {"debug", "info", "warn", "error"},
	"kind":              memory.Kinds,
	"state":             memory.States,
	"sort":              memory.Sorts,
	"order":             memory.Orders,
	"compactions state": store.CompactionStates,
	"usage by":          report.UsageKeys,
	"import format":     {"jsonl"},
	"export format":     {"jsonl", "markdown"},
	"setup model":       {"openai", "anthropic", "none"},
	"setup platform":    {"discord", "slack", "terminal"},
}

// memoryStates are the states of the memories that the commands take by ID, where not all.
var memoryStates = map[string]string{"forget": "active", "restore": "forgotten", "pin": "active", "unpin": "active"}

// completeAll declares the completions of a command and those below it. What a flag or an argument takes is the word in its help: NAME, FILE.
func (a *app) completeAll(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		a.completeAll(sub)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if complete := a.flagValues(cmd.Name(), f); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // it fails for a flag that does not exist, or that has one
		}
	})
	switch {
	case cmd.HasSubCommands(), strings.Contains(cmd.Use, "FILE"):
	case strings.HasSuffix(cmd.Use, " ID"):
		cmd.ValidArgsFunction = onlyFirst(a.stored(memoryIDs))
	default:
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// flagValues returns the completions of a flag; nil: files.
func (a *app) flagValues(command string, f *pflag.Flag) completions {
	for _, key := range []string{command + " " + f.Name, f.Name} {
		if values := choices[key]; values != nil {
			return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
		}
	}
	takes, _ := pflag.UnquoteUsage(f)
	switch {
	case takes == "FILE":
		return nil
	case takes == "DIR":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case f.Name == "channel":
		return a.stored(channelNames)
	case f.Name == "live":
		return a.stored(outerNames)
	case f.Name == "server":
		return a.stored(serverNames)
	case f.Name == "set":
		return cobra.FixedCompletions(settings(), cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp)
	}
	return cobra.NoFileCompletions
}

// settings are the starts of the values of --set.
func settings() (all []cobra.Completion) {
	for _, key := range compactor.Keys() {
		all = append(all, key+"=")
	}
	return all
}

// onlyFirst completes the first argument alone.
func onlyFirst(complete completions) completions {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, typed)
	}
}

// lister lists what is stored, of which typed is the start.
type lister = func(ctx context.Context, db *store.Store, cmd *cobra.Command, typed string) ([]cobra.Completion, error)

// stored returns completions that list what is stored, in its order.
func (a *app) stored(list lister) completions {
	return func(cmd *cobra.Command, args []string, typed string) (all []cobra.Completion, directive cobra.ShellCompDirective) {
		directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		if err := a.load(); err != nil { // the command says why, not its completion
			return nil, directive
		}
		where, err := storeOptions(&a.settings)
		if err != nil {
			return nil, directive
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		where.Shared = true
		db, err := store.Open(ctx, where)
		if err != nil {
			return nil, directive
		}
		all, err = list(ctx, db, cmd, typed)
		if errors.Join(err, db.Close()) != nil {
			return nil, directive
		}
		return startingWith(typed, all), directive
	}
}

func startingWith(typed string, all []cobra.Completion) []cobra.Completion {
	return slices.DeleteFunc(all, func(one cobra.Completion) bool { return !strings.HasPrefix(one, typed) })
}

// describe returns a completion with its description, which may be a stranger's text.
func describe(value, text string) cobra.Completion {
	return cobra.CompletionWithDesc(value, chat.OneLine(terminal.Printable(text)))
}

// channelNames lists the channels that a command accepts, the newest message first. Those of the terminal have the short name,
// unless the prefix is typed.
func channelNames(ctx context.Context, db *store.Store, cmd *cobra.Command, typed string) (all []cobra.Completion, err error) {
	const prefix = terminal.Name + ":"
	only := map[string]string{"chat": prefix, "ask": prefix, "import": prefix}[cmd.Name()]
	places, _, err := db.Places(ctx, only+strings.TrimPrefix(typed, only), maxCompletions, 0)
	for _, p := range places {
		if !strings.HasPrefix(p.Channel, only) {
			continue
		}
		name := p.Channel
		if !strings.HasPrefix(typed, prefix) {
			name = strings.TrimPrefix(name, prefix)
		}
		all = append(all, describe(name, p.Name))
	}
	return all, err
}

// outerNames lists the channels of Discord and Slack.
func outerNames(ctx context.Context, db *store.Store, cmd *cobra.Command, typed string) (all []cobra.Completion, err error) {
	all, err = channelNames(ctx, db, cmd, typed)
	return slices.DeleteFunc(all, func(name cobra.Completion) bool { return checkPlace(name) != nil }), err
}

// serverNames lists the servers of Discord and Slack.
func serverNames(ctx context.Context, db *store.Store, cmd *cobra.Command, typed string) (all []cobra.Completion, err error) {
	names, err := outerNames(ctx, db, cmd, typed)
	for _, name := range names {
		if server, _, of := strings.Cut(name, "/"); of && !slices.Contains(all, server) {
			all = append(all, server)
		}
	}
	return all, err
}

// memoryIDs lists the memories that a command can change or show, the newest first.
func memoryIDs(ctx context.Context, db *store.Store, cmd *cobra.Command, _ string) (all []cobra.Completion, err error) {
	memories, _, err := memory.In(db).List(ctx, memory.Filter{State: cmp.Or(memoryStates[cmd.Name()], "all"), Limit: maxCompletions})
	for _, m := range memories {
		if cmd.Name() == "unpin" && !m.Pinned || cmd.Name() == "pin" && m.Pinned {
			continue
		}
		all = append(all, describe(fmt.Sprint(m.ID), m.Content))
	}
	return all, err
}

// commandNames completes the arguments of help.
func commandNames(cmd *cobra.Command, args []string, typed string) (all []cobra.Completion, directive cobra.ShellCompDirective) {
	parent, _, err := cmd.Root().Find(args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return startingWith(typed, all), cobra.ShellCompDirectiveNoFileComp
}
