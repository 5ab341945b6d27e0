// The state of the model: what is on disk, what each process remembers, and what is under way between them.

package fleetmodel

// The largest bounds: a state has 16 bytes.
const (
	MaxProcesses = 3
	MaxMessages  = 3
	MaxFaults    = 7 // of each kind
)

// state is everything at one moment. Steps change a copy of it.
type state struct {
	// On disk.
	owner    owner
	epoch    uint8
	event    bool // event rows wait for the owner
	messages [MaxMessages]message

	processes [MaxProcesses]process
	late      transaction       // its answer is lost; it may still be executed
	left      [faultKinds]uint8 // faults that may still happen

	broken Rule // the rule that the last step broke; 0: none
}

// owner is what the conversation's row says about its owner, and what a transaction says about who began it.
type owner uint8

const (
	nobody  owner = iota
	killed        // a process that was killed; its row has not been ended yet
	ended         // a process that does not run any more, and whose row was ended
	running       // process 0; the others follow
)

func ownerOf(p int) owner { return running + owner(p) }

// row is what the table of processes says about one, and whether it runs at all.
type row uint8

const (
	absent  row = iota // no such process runs
	leased             // lease_until is in the future, by the clock of the database
	expired            // it is not, and nobody has ended the process yet
	over               // it was ended. It learns of that when it renews its lease, or writes
)

// process is one process: its row, and its memory.
type process struct {
	row      row
	passed   bool // its own monotonic clock has passed the deadline of its lease
	draining bool

	epoch uint8 // that its claim got; 0: the conversation is not in its memory
	look  bool  // the inbox may have something
	turn  uint8 // the message for which it calls the model; 0: none

	piece uint8 // the message whose reply its sender sends; 0: none
	stage stage // how far that is

	// Only seeded faults use these.
	compared bool  // the epoch was compared in an earlier transaction
	looked   bool  // the event rows that it has seen are still there
	received uint8 // a message that it has not stored yet, or whose conversation it has not claimed yet
}

// stage is how far a sender is with its piece.
type stage uint8

const (
	marked    stage = iota + 1 // the piece is `sending`, and not at the platform
	checked                    // the deadline has not passed
	requested                  // the request is under way
	accepted                   // the platform has it
)

// message is one message, the rows that it leads to, and what the platform knows. Messages are numbered from 1, in the order
// in which the inbox got them.
type message struct {
	at           place
	acknowledged bool  // the platform does not deliver it again
	shown        uint8 // how often the platform shows the reply; 2: twice or more
	adrift       uint8 // requests of processes that do not wait for them any more, and that may still arrive
	excused      bool  // a lease ended while a request was on its way: the reply may be shown twice
}

// place is how far a message has come, on disk.
type place uint8

const (
	unknown place = iota
	inInbox
	takenUp // in the transcript, not answered
	waiting // answered; the piece in the outbox is `waiting`
	sending // the piece is `sending`
	sent
)

// oldest returns the first message at one of the places from low to high; 0: none.
func (s *state) oldest(low, high place) uint8 {
	for i := range s.messages {
		if at := s.messages[i].at; at >= low && at <= high {
			return uint8(i + 1)
		}
	}
	return 0
}

func (s *state) message(number uint8) *message { return &s.messages[number-1] }

// open reports whether there is something to do in the conversation: what store.Unfinished selects.
func (s *state) open() bool { return s.oldest(inInbox, sending) != 0 }

// replace replaces references to a process that ends.
func (s *state) replace(p int, by owner) {
	if s.owner == ownerOf(p) {
		s.owner = by
	}
	if s.late.by == ownerOf(p) {
		s.late.by = by
	}
}

func (s *state) breaks(r Rule) {
	if s.broken == 0 {
		s.broken = r
	}
}
