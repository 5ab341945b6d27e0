// The endpoints that only look things up: the gateway's address, users, guilds.
package discordtest

func (w *world) getGateway(query) (any, error) {
	return map[string]string{"url": w.gatewayURL()}, nil
}

// getGatewayBot: Discord, Gateway: Get Gateway Bot.
func (w *world) getGatewayBot(query) (any, error) {
	limit := map[string]int{
		"total": w.options.IdentifyLimit, "remaining": max(0, w.options.IdentifyLimit-w.identifies),
		"reset_after": 14_400_000, "max_concurrency": 1,
	}
	return map[string]any{"url": w.gatewayURL(), "shards": 1, "session_start_limit": limit}, nil
}

func (w *world) getApplication(query) (any, error) {
	flags := 1 << 19 // GATEWAY_MESSAGE_CONTENT_LIMITED: of a bot in fewer than 100 servers
	if w.options.Forbidden&IntentMessageContent != 0 {
		flags = 0
	}
	return map[string]any{"id": w.app, "name": w.bot.Username, "description": "", "flags": flags, "bot": w.bot}, nil
}

func (w *world) getUser(q query) (any, error) {
	if q.PathValue("user") == "@me" {
		return w.bot, nil
	}
	if u := w.users[q.PathValue("user")]; u != nil {
		return *u, nil
	}
	return nil, unknown(10013, "User")
}

// openDirect returns the direct channel with a user, new or old (Discord, User:
// Create DM).
func (w *world) openDirect(q query) (any, error) {
	var body struct {
		Recipient string `json:"recipient_id"`
	}
	if err := q.decode(&body); err != nil {
		return nil, err
	}
	u := w.users[body.Recipient]
	if u == nil {
		return nil, unknown(10013, "User")
	}
	return *w.direct(u), nil
}

func (w *world) getChannel(q query) (any, error) {
	c, err := w.channelOf(q)
	if err != nil {
		return nil, err
	}
	return *c, nil
}

func (w *world) guildOf(q query) (*Guild, error) {
	if g := w.guilds[q.PathValue("guild")]; g != nil {
		return g, nil
	}
	return nil, unknown(10004, "Guild")
}

func (w *world) getGuild(q query) (any, error) {
	g, err := w.guildOf(q)
	if err != nil {
		return nil, err
	}
	return *g, nil
}

func (w *world) getGuilds(query) (any, error) {
	all := []map[string]any{}
	for _, g := range w.guilds {
		all = append(all, map[string]any{"id": g.ID, "name": g.Name, "owner": false, "permissions": "0"})
	}
	return all, nil
}

func (w *world) getGuildRoles(q query) (any, error) {
	g, err := w.guildOf(q)
	if err != nil {
		return nil, err
	}
	return g.Roles, nil
}

func (w *world) getMember(q query) (any, error) {
	g, err := w.guildOf(q)
	if err != nil {
		return nil, err
	}
	if m := g.Members[q.PathValue("user")]; m != nil {
		return *m, nil
	}
	return nil, unknown(10007, "Member")
}

// getGuildChannels has no threads (Discord, Guild: Get Guild Channels).
func (w *world) getGuildChannels(q query) (any, error) {
	g, err := w.guildOf(q)
	if err != nil {
		return nil, err
	}
	return w.guildCreate(g)["channels"], nil
}

func (w *world) getActiveThreads(q query) (any, error) {
	g, err := w.guildOf(q)
	if err != nil {
		return nil, err
	}
	return map[string]any{"threads": w.guildCreate(g)["threads"], "members": []any{}, "has_more": false}, nil
}
