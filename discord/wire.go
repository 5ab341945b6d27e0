// The wire below the library's connection to the gateway: it ends when the gateway says
// so or falls silent.

package discord

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What the library does not do by itself is done here, below it, on the wire: a wire
// ends when the gateway says so or falls silent, before the library can make more of
// it. discordgo answers op 9 with one IDENTIFY after the other, deadlocks on op 7
// while it opens, keeps close codes to itself, waits for HELLO and READY without end,
// notices a dead connection after 5 intervals and then gives up its session.

// Opcodes of the gateway (Discord, Opcodes and Status Codes: Gateway Opcodes).
const (
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

const (
	grace       = time.Second // for what is late because we were
	smallPacket = 1 << 10     // bytes; what is about the connection itself is smaller
	largeFrame  = 1 << 20     // bytes; the room for it is not kept
	maxFrame    = 64 << 20    // bytes
)

// ending is why a connection to the gateway ended.
type ending struct {
	code   int  // of the close frame; 0: there was none
	status int  // HTTP's, in place of a WebSocket; 0: there was none
	anew   bool // op 9: the session is gone
	err    error
	silent bool // nothing was heard any more
}

func (e ending) Error() string {
	switch {
	case e.code != 0:
		return fmt.Sprintf("the gateway closed the connection with code %d", e.code)
	case e.silent:
		return "the gateway fell silent"
	case e.err != nil:
		return e.err.Error()
	}
	return "the connection ended"
}

// wire is a connection to the gateway as the library reads it.
type wire struct {
	net.Conn
	in       *bufio.Reader
	frame    []byte // what was received last
	given    int    // bytes of it that the library has
	upgraded bool   // frames follow
	message  []byte // the begin of what is being received, if that is small
	size     int    // of what is being received
	answered bool   // something came after HELLO
	beats    bool   // the library has that, and begins to send heartbeats

	gone chan struct{} // closed when it has ended
	beat chan struct{} // closed when the first heartbeat was sent

	mu       sync.Mutex // guards everything below
	interval time.Duration
	hello    time.Time // when the gateway said so
	until    time.Time // when it will have been silent for too long
	sent     int       // packets since HELLO
	end      *ending   // the first reason to end; nil: it goes on
}

// newWire is a wire on which a session has to stand in time.
func newWire(c net.Conn, patience time.Duration) *wire {
	return &wire{Conn: c, in: bufio.NewReader(c), gone: make(chan struct{}), beat: make(chan struct{}), until: time.Now().Add(patience)}
}

// cut ends the wire at once; the session on it can be resumed. It can be called by
// anybody at any time. The first reason counts.
func (w *wire) cut(e ending) {
	w.mu.Lock()
	if w.end == nil {
		w.end = &e
		close(w.gone)
	}
	w.mu.Unlock()
	_ = w.Conn.Close() // nobody can do anything about it
}

// Close is the library's, which has its own reasons.
func (w *wire) Close() error {
	w.cut(ending{err: net.ErrClosed})
	return nil
}

// ended returns why the wire ended.
func (w *wire) ended() ending {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end == nil {
		return ending{}
	}
	return *w.end
}

// greeted returns when HELLO came, at which the library sends its IDENTIFY or RESUME.
func (w *wire) greeted() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hello
}

// welcome tells the wire that the session stands: from here on heartbeats keep it up.
func (w *wire) welcome() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = time.Now().Add(w.interval * 3 / 2)
}

// Read gives the library what was received, frame by frame.
func (w *wire) Read(p []byte) (int, error) {
	for w.given == len(w.frame) {
		if err := w.next(); err != nil {
			w.cut(w.reason(err))
			w.await()
			return 0, err
		}
	}
	n := copy(p, w.frame[w.given:])
	w.given += n
	w.beats = w.answered
	return n, nil
}

// Write sends what the library writes. It never fails: the library learns that the
// connection has ended where it reads, and only there. Its heartbeat, whose write fails
// when the next connection is made already, would close that one.
func (w *wire) Write(p []byte) (int, error) {
	if _, err := w.Conn.Write(p); err != nil {
		w.cut(ending{err: err})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.hello.IsZero() {
		if w.sent++; w.sent == 2 { // the first is IDENTIFY or RESUME
			close(w.beat)
		}
	}
	return len(p), nil
}

// await keeps the end from the library until its heartbeat has begun, for the same reason.
func (w *wire) await() {
	if !w.beats {
		return
	}
	select {
	case <-w.beat:
	case <-time.After(grace):
	}
}

func (w *wire) reason(err error) ending {
	var e ending
	var t net.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &t) && t.Timeout():
		return ending{silent: true}
	}
	return ending{err: err}
}

// next receives one line of the handshake or one frame.
func (w *wire) next() error {
	w.mu.Lock()
	until := w.until
	w.mu.Unlock()
	now := time.Now()
	if w.upgraded && now.After(until.Add(grace)) {
		return ending{silent: true}
	}
	if soon := now.Add(grace); until.Before(soon) {
		until = soon // what is there already must not be taken for silence
	}
	if err := w.SetReadDeadline(until); err != nil {
		return err
	}
	if cap(w.frame) > largeFrame {
		w.frame = nil
	}
	w.frame, w.given = w.frame[:0], 0
	if !w.upgraded {
		return w.nextLine()
	}
	return w.nextFrame()
}

func (w *wire) nextLine() error {
	line, err := w.in.ReadSlice('\n')
	w.frame = append(w.frame, line...)
	text := strings.TrimRight(string(line), "\r\n")
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(text, "HTTP/") && !strings.HasPrefix(text, "HTTP/1.1 101"):
		_, status, _ := strings.Cut(text, " ")
		number, _, _ := strings.Cut(status, " ")
		code, _ := strconv.Atoi(number)
		return ending{status: code, err: fmt.Errorf("the gateway answered HTTP %.50s", status)}
	case text == "":
		w.upgraded = true
	}
	return nil
}

// nextFrame receives a frame (RFC 6455, 5.2) and looks at it before the library does.
func (w *wire) nextFrame() error {
	head, err := w.take(2)
	if err != nil {
		return err
	}
	final, opcode, masked := head[0]&0x80 != 0, head[0]&0x0f, head[1]&0x80 != 0
	length := uint64(head[1] & 0x7f)
	if extended := map[uint64]int{126: 2, 127: 8}[length]; extended > 0 {
		b, err := w.take(extended)
		if err != nil {
			return err
		}
		length = binary.BigEndian.Uint64(append(make([]byte, 8-extended, 8), b...))
	}
	if length > maxFrame || masked {
		return ending{err: fmt.Errorf("the gateway sent a frame of %d bytes that cannot be", length)}
	}
	payload, err := w.take(int(length))
	if err != nil {
		return err
	}
	switch {
	case opcode == 8 && len(payload) >= 2:
		return ending{code: int(binary.BigEndian.Uint16(payload))}
	case opcode == 8:
		return ending{code: 1005}
	case opcode > 8:
		return nil
	}
	return w.look(payload, final)
}

// take receives n bytes, which are the library's too.
func (w *wire) take(n int) ([]byte, error) {
	from := len(w.frame)
	w.frame = slices.Grow(w.frame, n)[:from+n]
	_, err := io.ReadFull(w.in, w.frame[from:])
	return w.frame[from:], err
}

// look reads what is about the connection itself.
func (w *wire) look(payload []byte, final bool) error {
	if w.size += len(payload); w.size <= smallPacket {
		w.message = append(w.message, payload...)
	}
	if w.size > maxFrame { // in many fragments
		return ending{err: fmt.Errorf("the gateway sent a message of more than %d bytes", maxFrame)}
	}
	if !final {
		return nil
	}
	message, size := w.message, w.size
	w.message, w.size = w.message[:0], 0
	answered := w.answered
	w.answered = true
	var p struct {
		Op   int             `json:"op"`
		Data json.RawMessage `json:"d"`
	}
	if size > smallPacket || json.Unmarshal(message, &p) != nil {
		return nil
	}
	switch p.Op {
	case opReconnect:
		return ending{err: errors.New("the gateway asked to reconnect")}
	case opInvalidSession:
		return ending{anew: string(p.Data) != "true", err: errors.New("the gateway called the session invalid")}
	case opHello:
		var hello struct {
			Interval float64 `json:"heartbeat_interval"` // ms
		}
		if json.Unmarshal(p.Data, &hello) != nil || hello.Interval < 1 { // the library would panic
			return ending{err: errors.New("the gateway's HELLO has no heartbeat interval")}
		}
		w.answered = false
		w.mu.Lock()
		w.interval, w.hello = time.Duration(hello.Interval*float64(time.Millisecond)), time.Now()
		w.mu.Unlock()
	case opHeartbeatAck:
		if !answered && size == len(payload) {
			w.frame = w.frame[:0] // as the first answer it would make the library wait for itself
			return nil
		}
		w.mu.Lock()
		w.until = time.Now().Add(w.interval * 3 / 2)
		w.mu.Unlock()
	}
	return nil
}
