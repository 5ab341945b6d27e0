package compactor

// EventState says what happened to a compaction.
type EventState string

// The states an event tells of.
const (
	EventStarted EventState = "started"
	EventStaged  EventState = "staged"
	EventLanded  EventState = "landed"
	EventFailed  EventState = "failed"
	EventNoop    EventState = "noop"
	EventUndone  EventState = "undone"
)

// Event tells of one step of a compaction. The same value goes to the log, to the
// doors and to --json.
type Event struct {
	ID           int64      `json:"id"` // the row; 0: there is none
	State        EventState `json:"state"`
	Trigger      Trigger    `json:"trigger"`
	Kind         Kind       `json:"kind"`
	By           By         `json:"by"`
	From         int64      `json:"from_seq"`
	To           int64      `json:"to_seq"`
	Messages     int        `json:"messages"`
	BeforeTokens int        `json:"before_tokens"` // used before, of the next request, reserve included
	AfterTokens  int        `json:"after_tokens"`  // used after; 0 until it landed
	Window       int        `json:"window"`        // tokens
	Summary      string     `json:"summary"`
	Error        string     `json:"error"` // why it failed or why there was nothing to do
}
