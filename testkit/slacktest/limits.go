// Rate limits: how many requests of a method Slack serves in a minute (apis/web-api/rate-limits).

package slacktest

import "time"

// postsMost is of chat.postMessage: "several hundred messages per minute" in a workspace (reference/methods/chat.postMessage). Its
// limit of one message per second in a channel is not enforced: bursts are allowed.
const postsMost = 200

// tiers are the methods whose documented limit is enforced, with the requests per minute of their tier: 2 (20+), 3 (50+) and
// 4 (100+), as in the Facts of each method's page. The "+" is not granted, because nobody can rely on it.
var tiers = map[string]int{
	"agents.sessions.rename":                50,
	"agents.sessions.setStatus":             50,
	"assistant.threads.setSuggestedPrompts": 100,
	"chat.appendStream":                     100,
	"chat.startStream":                      20,
	"chat.postMessage":                      postsMost,
	"chat.stopStream":                       20,
	"chat.update":                           50,
	"conversations.history":                 50,
	"conversations.info":                    50,
	"conversations.replies":                 50,
	"files.info":                            100,
	"reactions.add":                         50,
	"reactions.remove":                      20,
	"users.conversations":                   50,
	"users.info":                            100,
	"users.list":                            20,
	"views.open":                            100,
	"views.publish":                         100,
}

// checkLimitLocked refuses a request beyond the limit of its method. The windows are "per minute" (apis/web-api/rate-limits);
// that one slides and that refused requests do not count is a judgement.
func (s *Server) checkLimitLocked(method string) {
	limit, limited := tiers[method]
	if !limited {
		return
	}
	now := time.Now()
	served := s.served[method]
	for len(served) > 0 && now.Sub(served[0]) >= s.opt.Minute {
		served = served[1:]
	}
	s.served[method] = served
	if len(served) >= limit {
		s.limited[method]++
		panic(rateLimited(s.opt.Minute - now.Sub(served[0])))
	}
	s.served[method] = append(served, now)
}

// Limited returns how many requests of a method were refused because of its rate limit.
func (s *Server) Limited(method string) int {
	return locked(s, func() int { return s.limited[method] })
}
