package channel

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

// Tools of other programs, and which of them a conversation has.

// ToolServer is a program with tools.
type ToolServer struct {
	ID      string
	Tools   []string // tools that may be called, by the names the models know
	Problem string   // why it cannot be reached; "": it can
}

// Toolbox has the tools that conversations may be given. Only Ready may block.
type Toolbox interface {
	Servers() []ToolServer
	// Tools returns the tools of some servers, as far as they are known. Their results are data from strangers.
	Tools(servers []string) []llm.Tool
	// Ready returns once the tools of some servers are known, or it is not worth waiting, or ctx ends.
	Ready(ctx context.Context, servers []string)
}

// tools returns the tools that the model may call in a conversation. Without a conversation they are only measured,
// without records for no particular one; then nothing can fail.
func (a Agent) tools(ctx context.Context, records *store.Conversation, o memory.ToolOptions, c *conversation) (all []llm.Tool, err error) {
	servers, err := a.otherServers(ctx, records)
	if err == nil && len(servers) > 0 {
		for _, tool := range a.Toolbox.Tools(servers) {
			all = append(all, c.approvable(tool))
		}
	}
	return a.toolset(cmp.Or(records, new(store.Conversation)), o, c.answerContextCall, append(all, spawnTools(a.Spawn, c)...)), err
}

// weighed returns the tools that the model may call in every conversation, to measure them.
func (a Agent) weighed() []llm.Tool {
	all, _ := a.tools(context.Background(), nil, memory.ToolOptions{}, nil)
	return all
}

// otherServers returns the ids of the servers of other programs: of the settings, and added by /tools.
func (a Agent) otherServers(ctx context.Context, records *store.Conversation) ([]string, error) {
	if a.Toolbox == nil {
		return nil, nil
	}
	if records == nil {
		return a.ToolServers, nil
	}
	rules, err := records.Settings().Tools(ctx)
	return slices.Concat(a.ToolServers, rules.Added), err
}

// awaitTools waits, before a turn, for tools of servers that still connect after a start.
func (c *conversation) awaitTools(ctx context.Context) error {
	servers, err := c.agent.otherServers(c.hub.ctx, c.records)
	if err != nil || len(servers) == 0 || c.window.learnt().Facts().RefusesTools {
		return err
	}
	c.agent.Toolbox.Ready(ctx, servers)
	return c.renew(c.hub.ctx)
}

// reread makes the conversation reopen before its next turn. Only the loop calls it.
func (c *conversation) reread() { c.rules, c.runs.again = nil, true }

// runTools lists the tools of other programs, or gives the conversation those of a server.
func runTools(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	agent, err := c.current(ctx)
	if err != nil {
		return Answer{}, err
	}
	var servers []ToolServer
	if agent.Toolbox != nil {
		servers = agent.Toolbox.Servers()
	}
	if verb, id, _ := strings.Cut(args, " "); verb != "" {
		if !c.trusted(who) {
			return Answer{}, errDenied("In a direct message, the owners and managers named in my settings file decide which tools I have.")
		}
		if err := c.changeTools(ctx, servers, who, strings.ToLower(verb), strings.TrimSpace(id)); err != nil {
			return Answer{}, err
		}
	}
	rules, err := c.records.Settings().Tools(ctx)
	if len(servers) == 0 {
		return Answer{Text: "There are no external tools: my settings file lists none."}, err
	}
	answer := Answer{Text: c.spell("External tools. `/tools add NAME` adds them to this conversation, `/tools remove NAME` removes them.")}
	for _, s := range servers {
		state := "not here"
		if slices.Contains(agent.ToolServers, s.ID) {
			state = "by the settings file"
		} else if slices.Contains(rules.Added, s.ID) {
			state = "added here"
		}
		if s.Problem != "" {
			s.Problem = "; it cannot be reached: " + s.Problem
		}
		answer.Items = append(answer.Items, fmt.Sprintf("%s (%s): %s%s", s.ID, state, strings.Join(s.Tools, ", "), s.Problem))
	}
	return answer, err
}

// changeTools adds a server to the conversation's servers, or removes one.
func (c *conversation) changeTools(ctx context.Context, servers []ToolServer, who Person, verb, id string) error {
	rules, err := c.records.Settings().Tools(ctx)
	if err != nil {
		return err
	}
	known := slices.ContainsFunc(servers, func(s ToolServer) bool { return s.ID == id })
	added := slices.Index(rules.Added, id)
	switch {
	case verb == "add" && !known:
		return errPeople(c.translated(fmt.Sprintf("There are no tools named %q.", id)) + c.sayf(" /tools lists them."))
	case verb == "add" && added < 0:
		rules.Added = append(rules.Added, id)
	case verb == "remove" && added >= 0:
		rules.Added = slices.Delete(rules.Added, added, added+1)
	case verb == "remove":
		return errPeople(fmt.Sprintf("%q was not added here.", id))
	case verb != "add":
		return errPeople(c.spell("Write it as /tools add NAME or /tools remove NAME."))
	}
	if err := c.records.Settings().SetTools(ctx, rules, who.Name); err != nil {
		return err
	}
	c.log.Info("channel_tools_changed", "server", id, "change", verb, "by", who.ID)
	c.inbox.post(c.reread)
	c.hub.postThreads(c.name, (*conversation).reread)
	return nil
}
