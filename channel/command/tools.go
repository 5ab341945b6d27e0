package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/channel/sentences"
	"cairn/store"
)

// /tools: the tools of other programs that a conversation has.

// runTools lists the tools, or gives the conversation those of a server.
func runTools(ctx context.Context, c *Call) (Answer, error) {
	setup, err := c.Conversation.Setup(ctx)
	if err != nil {
		return Answer{}, err
	}
	rules, err := c.Records.Settings().Tools(ctx)
	if err != nil {
		return Answer{}, err
	}
	verb, id, _ := strings.Cut(c.Args, " ")
	if verb != "" {
		if !c.Rules.Trusts(c.Records.Name(), c.Who) {
			return Answer{}, denial("In a direct message, the owners and managers named in my settings file decide which tools I have.")
		}
		if err := changeTools(ctx, c, setup.ToolServers, &rules, strings.ToLower(verb), strings.TrimSpace(id)); err != nil {
			return Answer{}, err
		}
	}
	if len(setup.ToolServers) == 0 {
		return Answer{Text: "There are no external tools: my settings file lists none."}, nil
	}
	answer := Answer{Text: c.Speaker.Say("External tools. `/tools add NAME` adds them to this conversation, `/tools remove NAME` removes them.")}
	for _, s := range setup.ToolServers {
		answer.Items = append(answer.Items, serverLine(c, s, rules))
	}
	return answer, nil
}

func serverLine(c *Call, s ToolServer, rules store.ToolRules) string {
	state := c.Speaker.Sayf("not here")
	if s.FromFile {
		state = c.Speaker.Sayf("by the settings file")
	} else if slices.Contains(rules.Added, s.ID) {
		state = c.Speaker.Sayf("added here")
	}
	unreachable := ""
	if s.Problem != "" {
		unreachable = c.Speaker.Sayf("; it cannot be reached: %s", s.Problem)
	}
	return fmt.Sprintf("%s (%s): %s%s", s.ID, state, strings.Join(s.Tools, ", "), unreachable)
}

// changeTools adds a server to the conversation's servers, or removes one.
func changeTools(ctx context.Context, c *Call, servers []ToolServer, rules *store.ToolRules, verb, id string) error {
	known := slices.ContainsFunc(servers, func(s ToolServer) bool { return s.ID == id })
	added := slices.Index(rules.Added, id)
	switch {
	case verb == "add" && !known:
		return sentences.NewProblem(c.Speaker.Translate(fmt.Sprintf("There are no tools named %q.", id)) + c.Speaker.Sayf(" /tools lists them."))
	case verb == "add" && added < 0:
		rules.Added = append(rules.Added, id)
	case verb == "remove" && added >= 0:
		rules.Added = slices.Delete(rules.Added, added, added+1)
	case verb == "remove":
		return sentences.NewProblem(fmt.Sprintf("%q was not added here.", id))
	case verb != "add":
		return sentences.NewProblem(c.Speaker.Say("Use /tools add NAME or /tools remove NAME."))
	}
	if err := c.Records.Settings().SetTools(ctx, *rules, c.Who.Typist()); err != nil {
		return err
	}
	c.Log.Info("channel_tools_changed", "server", id, "change", verb, "by", c.Who.ID)
	c.Conversation.AgentChanged()
	return nil
}
