// The endpoints that only look things up: the gateway's address, the bot, its guilds.
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

func (w *world) getChannel(q query) (any, error) {
	c, err := w.channelOf(q)
	if err != nil {
		return nil, err
	}
	return *c, nil
}

func (w *world) getGuilds(query) (any, error) {
	all := []map[string]any{}
	for _, g := range w.guilds {
		all = append(all, map[string]any{"id": g.ID, "name": g.Name, "owner": false, "permissions": "0"})
	}
	return all, nil
}

func (w *world) getSelf(query) (any, error) { return w.bot, nil }
