// Package slacktest is a Slack workspace on loopback: the Web API, Socket Mode and the people in it, for tests that run a real
// client library. It is as strict as Slack, records everything its client does, and fails on demand in every way that Slack
// fails. Each rule names its source: a page below https://docs.slack.dev/, or "judgement" if no document says.
package slacktest

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"cairn/testkit/loopback"
)

// The app and its workspace, the same in every Server.
const (
	BotToken  = "xoxb-slacktest" // for the Web API
	AppToken  = "xapp-slacktest" // only for apps.connections.open
	TeamID    = "T000000001"
	AppID     = "A000000001"
	BotID     = "B000000001" // bot_id of the app's messages
	BotUserID = "U000000001" // the user id in mentions
)

// Options configures the times and limits of a workspace. The zero value of a field is Slack's behaviour.
type Options struct {
	AckWithin       time.Duration   // after which an envelope counts as not acknowledged; 3 s (apis/events-api#retries)
	Redeliver       []time.Duration // delays before each redelivery of an event that is not acknowledged; none, 1 min and 5 min (same page)
	PingEvery       time.Duration   // between two PINGs on a socket; 10 s (judgement: clients consider a socket dead after 30 s); negative: none
	WarnFor         time.Duration   // from a disconnect envelope with the reason "warning" (apis/events-api/using-socket-mode#disconnect) to the end of the socket; 10 s (judgement)
	Scopes          []string        // of the bot token; they also determine which events are sent; nil: all supported ones (reference/scopes)
	Ahead           time.Duration   // by how much Slack's clock is ahead of this machine's, in timestamps and Date headers
	Minute          time.Duration   // the window of the rate limits; 1 min (apis/web-api/rate-limits)
	Reactions       bool            // the app is subscribed to reaction_added
	Agent           bool            // the app is declared as an agent, which gives its token assistant:write (ai/agent-sessions)
	Unsubscribed    bool            // the app does not get the events of agents
	KeepsStopped    bool            // a stream that a person has stopped can no longer be edited (no document says whether it can)
	NoHomeTab       bool            // the Home tab is off in the app's settings (reference/app-manifest: home_tab_enabled)
	TriggerTime     time.Duration   // how long a trigger_id is valid; 3 s (interactivity/handling-user-interaction#modal_responses)
	IgnoresMarkdown bool            // like compatible servers that predate markdown_text: they post the other fields, which may be empty

	Histories func(message map[string]any) // changes the messages of histories, as of servers that say less or in another form; nil: none
}

func (o *Options) fill() {
	o.AckWithin = cmp.Or(o.AckWithin, 3*time.Second)
	o.PingEvery = cmp.Or(o.PingEvery, 10*time.Second)
	o.WarnFor = cmp.Or(o.WarnFor, 10*time.Second)
	o.Minute = cmp.Or(o.Minute, time.Minute)
	o.TriggerTime = cmp.Or(o.TriggerTime, triggerTime)
	if o.Scopes == nil {
		o.Scopes = allScopes
		if o.Agent {
			o.Scopes = append(slices.Clip(o.Scopes), "assistant:write")
		}
	}
	if o.Redeliver == nil {
		o.Redeliver = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
}

// Server is one workspace with one installed app. Its methods are safe for concurrent use.
type Server struct {
	loopback.Faults
	APIURL string // base URL of the Web API, with a final slash

	opt  Options
	http *httptest.Server
	life context.Context // ended by Close
	end  context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex // guards everything below; never held during I/O
	serial int        // for ids
	lastTS time.Time  // the newest timestamp so far

	directory
	views
	traffic
	ledger
}

// directory is who and what a workspace has.
type directory struct {
	users    map[string]*slack.User
	people   []string // ids of users, in order of creation
	channels map[string]*channel
	order    []string // ids of channels, in order of creation
	files    map[string]*file
	replies  map[string]*responseURL
	statuses map[place]string
	sessions map[place]*Session
	prompts  map[string][]slack.AssistantThreadsPrompt // by channel
}

// traffic is what the sockets carry.
type traffic struct {
	tickets    map[string]bool // unused socket URLs
	socketMode bool
	noHello    int       // how many sockets will get no hello
	lose       int       // events of channels that will not be sent
	sockets    []*Socket // open ones, oldest first
	connected  int       // number of sockets so far
	turn       int       // for taking turns among the open sockets
}

// ledger is what happened so far.
type ledger struct {
	seen       map[string]int         // number of requests, by method
	served     map[string][]time.Time // requests of the last minute that met the rate limit, by method
	limited    map[string]int         // requests beyond the rate limit, by method
	calls      []Call
	deliveries []*Delivery
	envelopes  map[string]*Delivery
	complaints []string
}

// New starts a workspace without people.
func New(o Options) *Server {
	o.fill()
	s := &Server{
		opt: o,
		directory: directory{
			users: make(map[string]*slack.User), channels: make(map[string]*channel), files: make(map[string]*file),
			replies: make(map[string]*responseURL), statuses: make(map[place]string),
			sessions: make(map[place]*Session), prompts: make(map[string][]slack.AssistantThreadsPrompt),
		},
		views:   views{homes: make(map[string]*View), modals: make(map[string]*View), triggers: make(map[string]*trigger)},
		traffic: traffic{socketMode: true, tickets: make(map[string]bool)},
		ledger: ledger{
			seen: make(map[string]int), served: make(map[string][]time.Time), limited: make(map[string]int),
			envelopes: make(map[string]*Delivery),
		},
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.addUserLocked(BotUserID, "app", BotID)
	mux := http.NewServeMux()
	mux.HandleFunc("/api/{method}", s.serveAPI)
	mux.HandleFunc("GET /link/", s.serveSocket)
	mux.HandleFunc("GET /files-pri/{file}/{name}", s.serveDownload)
	mux.HandleFunc("POST /respond/{reply}", s.serveResponseURL)
	mux.HandleFunc("GET /{$}", s.serveSignIn)
	s.http = httptest.NewServer(mux)
	s.APIURL = s.http.URL + "/api/"
	return s
}

// Close cuts every connection and waits for all goroutines.
func (s *Server) Close() {
	s.do(s.end)
	for _, k := range s.Sockets() {
		k.Cut()
	}
	s.http.Close()
	s.work.Wait()
}

// goLocked runs f in a goroutine that Close waits for, unless the server is closing.
func (s *Server) goLocked(f func()) {
	if s.life.Err() == nil {
		s.work.Go(f)
	}
}

// sleep waits and returns true, or returns false if ctx ends or the server closes.
func (s *Server) sleep(ctx context.Context, d time.Duration) bool {
	return loopback.Sleep(ctx, s.life.Done(), d)
}

func (s *Server) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// locked returns what f returns, called with mu held.
func locked[T any](s *Server, f func() T) (result T) {
	s.do(func() { result = f() })
	return result
}

// Call is one HTTP request of the client.
type Call struct {
	At     time.Time
	Method string // chat.postMessage, for example; files.download and response_url for the others
	Args   map[string]string
}

// Calls returns the answered requests of one method, oldest first, including those that met a Fault.
func (s *Server) Calls(method string) []Call {
	all := locked(s, func() []Call { return slices.Clone(s.calls) })
	return slices.DeleteFunc(all, func(c Call) bool { return c.Method != method })
}

// Seen returns the number of requests of one method so far, including those not answered yet.
func (s *Server) Seen(method string) int { return locked(s, func() int { return s.seen[method] }) }

// Deliveries returns every envelope so far, oldest first, with its acknowledgement.
func (s *Server) Deliveries() (found []Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.deliveries {
		found = append(found, *d)
	}
	return found
}

// Complaints returns what Slack tolerates, but a good client avoids, such as late acknowledgements and pings of everyone.
func (s *Server) Complaints() []string {
	return locked(s, func() []string { return slices.Clone(s.complaints) })
}

// Messages returns a channel's messages, oldest first, including replies and ephemeral messages, without deleted ones.
func (s *Server) Messages(channel string) []Message {
	return locked(s, func() []Message { return s.messagesLocked(channel) })
}

func (s *Server) messagesLocked(channel string) (found []Message) {
	for _, m := range s.mustChannelLocked(channel).messages {
		if !m.Deleted {
			copied := *m
			copied.Reactions = slices.Clone(m.Reactions)
			found = append(found, copied)
		}
	}
	return found
}

// Posted returns the app's own messages in their current state, channel by channel, oldest first.
func (s *Server) Posted() (found []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.order {
		found = append(found, slices.DeleteFunc(s.messagesLocked(id), func(m Message) bool { return !m.own() })...)
	}
	return found
}

// Status returns what assistant.threads.setStatus shows in a thread; "" if nothing.
func (s *Server) Status(channel, thread string) string {
	return locked(s, func() string { return s.statuses[place{channel, thread}] })
}
