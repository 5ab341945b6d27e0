// Package slacktest is a Slack workspace on loopback: the Web API, Socket Mode and the people in
// it, for tests that run a real client library. It is as strict as Slack in what it accepts, keeps
// a record of everything its client does, and fails on demand in every way that Slack fails. Each
// rule names its source: a page below https://docs.slack.dev/, or "judgement" where no document says.
package slacktest

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// The app and its workspace, the same in every Server.
const (
	BotToken  = "xoxb-slacktest" // for the Web API
	AppToken  = "xapp-slacktest" // for apps.connections.open only
	TeamID    = "T000000001"
	AppID     = "A000000001"
	BotID     = "B000000001" // what the app's messages carry as bot_id
	BotUserID = "U000000001" // what people mention
)

// Options are the times and rates of a workspace. The zero value of a field is what Slack does.
type Options struct {
	AckWithin       time.Duration   // that an envelope may stay unacknowledged; 3 s (apis/events-api#retries)
	Redeliver       []time.Duration // the wait before each further delivery of an event that nobody acknowledged; none, 1 min and 5 min (same page)
	PingEvery       time.Duration   // between two PINGs on a socket; 10 s (judgement: clients take a socket for dead after 30 s), or negative for none
	WarnFor         time.Duration   // from a disconnect envelope with the reason "warning" (apis/events-api/using-socket-mode#disconnect) to the end of the socket; 10 s (judgement)
	PostEvery       time.Duration   // the least time between two posts in one channel; Slack's is about 1 s, with bursts (apis/web-api/rate-limits); 0: no limit
	ResponseURLLife time.Duration   // 30 min (interactivity/handling-user-interaction#message_responses)
	Scopes          []string        // what the bot token may do, and which events come; nil: all that is here (reference/scopes)
	IgnoresMarkdown bool            // as compatible servers do that are older than markdown_text: they post what is left, which may be nothing
}

func (o *Options) fill() {
	for field, usual := range map[*time.Duration]time.Duration{
		&o.AckWithin:       3 * time.Second,
		&o.PingEvery:       10 * time.Second,
		&o.WarnFor:         10 * time.Second,
		&o.ResponseURLLife: 30 * time.Minute,
	} {
		if *field == 0 {
			*field = usual
		}
	}
	if o.Redeliver == nil {
		o.Redeliver = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
}

// Server is one workspace in which one app is installed. Its methods may be called concurrently.
type Server struct {
	APIURL string // the Web API's base; it ends in a slash

	opt  Options
	http *httptest.Server
	done chan struct{} // closed by Close
	work sync.WaitGroup

	mu     sync.Mutex // guards everything below; never held over I/O
	closed bool
	serial int       // for ids
	lastTS time.Time // of the newest timestamp given out

	users    map[string]*user
	channels map[string]*channel
	order    []string // of channels, as they were made
	files    map[string]*file
	replies  map[string]*responseURL
	statuses map[place]status
	posted   map[string]time.Time // channel: the app's last post there

	tickets    map[string]bool // socket URLs that nobody has used
	socketMode bool
	sockets    []*Socket // open ones, oldest first
	connected  int       // sockets ever
	turn       int       // which of the open ones is next

	faults     []*Fault
	seen       map[string]int // requests, by method
	calls      []Call
	deliveries []*Delivery
	envelopes  map[string]*Delivery
	complaints []string
}

// New starts a workspace with nobody in it but the app.
func New(o Options) *Server {
	o.fill()
	s := &Server{
		opt: o, done: make(chan struct{}), socketMode: true,
		users: make(map[string]*user), channels: make(map[string]*channel), files: make(map[string]*file),
		replies: make(map[string]*responseURL), posted: make(map[string]time.Time),
		statuses: make(map[place]status), tickets: make(map[string]bool),
		envelopes: make(map[string]*Delivery), seen: make(map[string]int),
	}
	s.users[BotUserID] = &user{id: BotUserID, name: "app", botID: BotID}
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

// Close cuts every connection and waits for all that the server started.
func (s *Server) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	sockets := append([]*Socket(nil), s.sockets...)
	s.mu.Unlock()
	close(s.done)
	for _, k := range sockets {
		k.Cut()
	}
	s.http.Close()
	s.work.Wait()
}

// goLocked runs f, unless the server is closing. Close waits for it.
func (s *Server) goLocked(f func()) {
	if !s.closed {
		s.work.Go(f)
	}
}

// sleep waits; it says whether the whole time passed before the server was closed.
func (s *Server) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.done:
		return false
	}
}
