// The REST API: routes, checks of every request, responses, and read-only endpoints.

package discordtest

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/testkit/loopback"
)

type query struct {
	*http.Request
	body []byte // the JSON
}

// endpoint returns a value to send as JSON, or nil for 204, or panics with its answer. It is called with the world locked.
type endpoint func(w *world, q query) any

// routes returns the handler of all endpoints; open ones have their token in the path, or need none.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	route := func(pattern string, e endpoint) { s.route(mux, pattern, true, e) }
	open := func(pattern string, e endpoint) { s.route(mux, pattern, false, e) }

	open("GET /gateway", func(w *world, _ query) any { return map[string]string{"url": w.gatewayURL()} })
	route("GET /gateway/bot", (*world).getGatewayBot)
	route("GET /users/@me", func(w *world, _ query) any { return w.bot })
	route("GET /users/@me/guilds", (*world).getGuilds)
	route("GET /guilds/{guild}", func(w *world, q query) any { return w.guildOf(q) })
	route("GET /guilds/{guild}/channels", (*world).getChannels)
	route("GET /guilds/{guild}/members/{user}", (*world).getMember)
	route("POST /users/@me/channels", (*world).createDirect)
	route("GET /applications/@me", (*world).getApplication)
	route("GET /channels/{channel}", func(w *world, q query) any { return w.channelOf(q) })
	route("GET /channels/{channel}/messages", (*world).getMessages)
	route("GET /channels/{channel}/messages/{message}", (*world).getMessage)
	route("POST /channels/{channel}/messages", (*world).createMessage)
	route("PATCH /channels/{channel}/messages/{message}", (*world).editMessage)
	route("DELETE /channels/{channel}/messages/{message}", (*world).deleteMessage)
	route("PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me", (*world).addReaction)
	route("POST /channels/{channel}/messages/{message}/threads", (*world).startThread)
	route("POST /channels/{channel}/typing", (*world).startTyping)
	route("PUT /applications/{app}/commands", (*world).putCommands)
	open("POST /interactions/{interaction}/{token}/callback", (*world).callback)
	open("POST /webhooks/{app}/{token}", (*world).followUp)
	open("PATCH /webhooks/{app}/{token}/messages/{message}", (*world).editAnswer)
	open("DELETE /webhooks/{app}/{token}/messages/{message}", (*world).deleteAnswer)

	s.route(mux, " /", true, func(*world, query) any {
		panic((&apiError{status: http.StatusNotFound, message: "404: Not Found"}).answer())
	})
	mux.HandleFunc("/{$}", s.serveGateway)
	mux.HandleFunc("/resume", s.serveGateway)
	mux.HandleFunc("GET /attachments/", s.serveFile)
	return mux
}

func (s *Server) route(mux *http.ServeMux, pattern string, authorized bool, e endpoint) {
	mux.HandleFunc(strings.TrimSpace(strings.Replace(pattern, " /", " /api/{version}/", 1)), func(rw http.ResponseWriter, r *http.Request) {
		s.serve(rw, r, authorized, e)
	})
}

func (s *Server) serve(rw http.ResponseWriter, r *http.Request, authorized bool, e endpoint) {
	q := query{Request: r}
	var err error
	q.body, err = io.ReadAll(http.MaxBytesReader(nil, r.Body, 25<<20)) // Discord, Message: Create Message, Limitations: 25 MiB
	record := Request{Method: r.Method, Path: strings.TrimPrefix(r.URL.Path, "/api/"+r.PathValue("version")), Query: r.URL.RawQuery}
	s.exchange(rw, r, record, func(w *world) answer {
		refuseIf(err != nil, &apiError{status: http.StatusRequestEntityTooLarge, code: 40005, message: "Request entity too large"})
		if authorized { // interactions do not count
			w.limit()
		}
		w.checkRequest(q, authorized)
		v := e(w, q)
		if v == nil {
			return answer{Status: http.StatusNoContent, Header: http.Header{}}
		}
		return jsonAnswer(http.StatusOK, v)
	})
}

func (s *Server) exchange(rw http.ResponseWriter, r *http.Request, record Request, respond func(*world) answer) {
	s.do(func(w *world) {
		w.requests = append(w.requests, record)
		rw.Header().Set("Date", w.now().Format(http.TimeFormat))
	})
	s.Answer(rw, r, loopback.Exchange{
		Request: record.String(), Done: s.life.Done(), Refuse: refused, Answered: func() {},
		Respond: func() (a answer) {
			s.do(func(w *world) { a = respond(w) })
			return a
		},
	})
}

func refused(f Fault) answer {
	switch {
	case f.Cut:
		return answer{Cut: true}
	case f.Status == http.StatusTooManyRequests:
		return tooMany(f.RetryAfter, f.Global)
	case f.Status >= 500: // a proxy's page, not Discord's JSON
		return answer{Status: f.Status, Body: []byte("<html>" + http.StatusText(f.Status) + "</html>")}
	}
	return (&apiError{status: f.Status, code: f.Code, message: http.StatusText(f.Status)}).answer()
}

var userAgent = regexp.MustCompile(`^DiscordBot \(https?://[^ ,()]+, [^ ,()]+\)`)

// checkRequest: Discord, Reference: API Versioning, Authentication, User Agent, HTTP API.
func (w *world) checkRequest(q query, authorized bool) {
	v := q.PathValue("version")
	refuseIf(v != "v9" && v != "v10", &apiError{status: http.StatusBadRequest, code: 50041, message: "Invalid API version"})
	refuseIf(!userAgent.MatchString(q.UserAgent()), &apiError{status: http.StatusForbidden, code: 40333, message: "internal network error"})
	unauthorized := authorized && (w.tokenReset || q.Header.Get("Authorization") != "Bot "+w.options.Token)
	refuseIf(unauthorized, &apiError{status: http.StatusUnauthorized, message: "401: Unauthorized"})
	kind, _, _ := mime.ParseMediaType(q.Header.Get("Content-Type")) // empty if it is invalid
	if len(q.body) == 0 {
		refuseIf(kind != "", invalid("body", "CONTENT_TYPE_INVALID", "A content type, but no body."))
	} else {
		refuseIf(kind != "application/json", invalid("_", "CONTENT_TYPE_INVALID", `Expected "Content-Type" header to be one of {'application/json'}.`))
		refuseIf(!json.Valid(q.body), &apiError{status: http.StatusBadRequest, code: 50109, message: "The request body contains invalid JSON."})
	}
	for _, name := range []string{"channel", "message", "app", "interaction", "guild", "user"} {
		id := q.PathValue(name)
		isID := id == "" || id[0] == '@' || strings.Trim(id, "0123456789") == ""
		refuseIf(!isID, invalid(name+"_id", "NUMBER_TYPE_COERCE", "Value "+id+" is not snowflake."))
	}
}

// apiError is an error in Discord's format (Discord, Reference: Error Messages).
type apiError struct {
	status  int
	code    int
	message string
	field   string // of a form error, with reason
	kind    string
	reason  string
}

func invalid(field, kind, reason string) *apiError {
	return &apiError{http.StatusBadRequest, 50035, "Invalid Form Body", field, kind, reason}
}

func refuseIf(wrong bool, why *apiError) {
	if wrong {
		panic(why.answer())
	}
}

type answer = loopback.Reply

func jsonAnswer(status int, v any) answer {
	return answer{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: loopback.Encode(v)}
}

func (e *apiError) answer() answer {
	body := map[string]any{"message": e.message, "code": e.code}
	if e.field != "" {
		detail := []map[string]string{{"code": e.kind, "message": e.reason}}
		body["errors"] = map[string]any{e.field: map[string]any{"_errors": detail}}
	}
	return jsonAnswer(e.status, body)
}

// tooMany returns a 429 (Discord, Rate Limits: Exceeding A Rate Limit, Header Format).
func tooMany(after time.Duration, global bool) answer {
	seconds := after.Seconds()
	a := jsonAnswer(http.StatusTooManyRequests, map[string]any{"message": "You are being rate limited.", "retry_after": seconds, "global": global})
	header := a.Header
	header.Set("Retry-After", strconv.Itoa(int(math.Ceil(seconds))))
	if global {
		header.Set("X-RateLimit-Global", "true")
	}
	return a
}

// limit enforces the global limit (Discord, Rate Limits: Global Rate Limit).
func (w *world) limit() {
	now := time.Now()
	if now.Sub(w.second) >= time.Second {
		w.second = now
		w.inSecond = 0
	}
	w.inSecond++
	if w.inSecond > w.options.GlobalPerSecond {
		panic(tooMany(time.Second-now.Sub(w.second), true))
	}
}

func (q query) decode(v any) {
	if err := json.Unmarshal(q.body, v); err != nil {
		panic(invalid("_", "DICT_TYPE_CONVERT", err.Error()).answer())
	}
}

// getGatewayBot: Discord, Gateway: Get Gateway Bot.
func (w *world) getGatewayBot(query) any {
	after := w.identifiesResetAfter()
	limit := map[string]int{
		"total": w.options.IdentifyLimit, "remaining": max(0, w.options.IdentifyLimit-w.identifies),
		"reset_after": int(after.Milliseconds()), "max_concurrency": w.options.MaxConcurrency,
	}
	return map[string]any{"url": w.gatewayURL(), "shards": cmp.Or(w.options.Shards, 1+len(w.guilds)/1000), "session_start_limit": limit}
}

func (w *world) getApplication(query) any {
	flags := 1 << 19 // GATEWAY_MESSAGE_CONTENT_LIMITED: for a bot in fewer than 100 servers
	if w.options.Forbidden&discordgo.IntentMessageContent != 0 {
		flags = 0
	}
	return map[string]any{
		"id": w.bot.ID, "name": w.bot.Username, "description": "", "flags": flags, "bot": w.bot, "approximate_guild_count": len(w.guilds),
	}
}

// getGuilds returns a page (Discord, User: Get Current User Guilds; at most 200 in a page, ordered by id).
func (w *world) getGuilds(q query) any {
	ids := slices.SortedFunc(maps.Keys(w.guilds), func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	limit := 200
	if text := q.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		refuseIf(err != nil || n < 1 || n > 200, invalid("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 200."))
		limit = n
	}
	after := q.URL.Query().Get("after")
	all := []discordgo.UserGuild{}
	for _, id := range ids {
		isLater := len(id) > len(after) || len(id) == len(after) && id > after
		if isLater && len(all) < limit {
			all = append(all, discordgo.UserGuild{ID: id, Name: w.guilds[id].Name})
		}
	}
	return all
}

// guildOf: Discord, Guild: Get Guild, which has no channels and no members. The error is judgement.
func (w *world) guildOf(q query) discordgo.Guild {
	g := w.guilds[q.PathValue("guild")]
	refuseIf(g == nil, &apiError{status: http.StatusForbidden, code: 50001, message: "Missing Access"})
	found := *g
	found.Members = nil
	found.Channels = nil
	return found
}

// getChannels: Discord, Guild: Get Guild Channels, "does not include threads".
func (w *world) getChannels(q query) any {
	all := []*discordgo.Channel{}
	for _, c := range w.channels {
		if c.GuildID == w.guildOf(q).ID && !c.IsThread() {
			all = append(all, c)
		}
	}
	return all
}

// getMember: Discord, Guild: Get Guild Member.
func (w *world) getMember(q query) any {
	m := member(w.guild(w.guildOf(q).ID), q.PathValue("user"))
	refuseIf(m == nil, unknown(10007, "Member"))
	return m
}
