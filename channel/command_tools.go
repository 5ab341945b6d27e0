package channel

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// servers returns the servers that offer tools.
func (a Agent) servers() []ToolServer {
	if a.Toolbox == nil {
		return nil
	}
	return a.Toolbox.Servers()
}

// runTools lists the tools of other programs, or gives the conversation those of a server.
func runTools(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	agent, err := c.current(ctx)
	if err != nil {
		return Answer{}, err
	}
	if verb, id, _ := strings.Cut(args, " "); verb != "" {
		if !c.trusted(who) {
			return Answer{}, errDenied("In a direct message, the owners and managers named in my settings file decide which tools I have.")
		}
		if err := c.changeTools(ctx, agent, who, strings.ToLower(verb), strings.TrimSpace(id)); err != nil {
			return Answer{}, err
		}
	}
	rules, err := c.records.Settings().Tools(ctx)
	if err != nil {
		return Answer{}, err
	}
	servers := agent.servers()
	if len(servers) == 0 {
		return Answer{Text: "There are no external tools: my settings file lists none."}, nil
	}
	answer := Answer{Text: c.spell("External tools. `/tools add NAME` adds them to this conversation, `/tools remove NAME` removes them.")}
	for _, s := range servers {
		state := "not here"
		switch {
		case slices.Contains(agent.ToolServers, s.ID):
			state = "by the settings file"
		case slices.Contains(rules.Added, s.ID):
			state = "added here"
		}
		line := fmt.Sprintf("%s (%s): %s", s.ID, state, strings.Join(s.Tools, ", "))
		if s.Problem != "" {
			line += fmt.Sprintf("; it cannot be reached: %s", s.Problem)
		}
		answer.Items = append(answer.Items, line)
	}
	return answer, nil
}

// changeTools adds a server to the conversation's servers, or removes one.
func (c *conversation) changeTools(ctx context.Context, agent Agent, who Person, verb, id string) error {
	rules, err := c.records.Settings().Tools(ctx)
	if err != nil {
		return err
	}
	known := slices.ContainsFunc(agent.servers(), func(s ToolServer) bool { return s.ID == id })
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
