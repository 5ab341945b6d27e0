// A connection is one WebSocket of the gateway: a queue of frames that one goroutine writes, and a
// loop that reads.
package discordtest

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
)

// Gateway opcodes (Discord, Opcodes and Status Codes: Gateway Opcodes).
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

// frame is one queued action on the socket.
type frame struct {
	data  []byte
	close int  // close code to send before the end
	cut   bool // end without a close frame
}

type connection struct {
	ws        *websocket.Conn
	version   string
	handshake Handshake
	record    *Connection
	queue     []frame
	wake      chan struct{} // capacity 1: the queue has grown
	session   *session
	silent    bool // half-open: nothing is sent any more
	ending    bool // a close or a cut is queued or done
	gone      chan struct{}
	window    time.Time // start of the window for the limit of 120 packets per minute
	inWindow  int
}

// push queues a frame; nothing follows a frame that ends the connection. The world's lock must be
// held.
func (c *connection) push(f frame) {
	if c.ending {
		if f.cut { // even if the client has not answered a close yet
			_ = c.ws.Close()
		}
		return
	}
	if f.cut && c.silent {
		c.silent, c.queue = false, nil
	}
	c.ending = f.cut || f.close != 0
	if c.ending && c.session != nil {
		c.session.conn = nil
	}
	c.queue = append(c.queue, f)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (w *world) gatewayURL() string { return "ws" + w.url[len("http"):] + "/gateway-socket/" }

func (s *Server) serveGateway(rw http.ResponseWriter, r *http.Request) {
	var h Handshake
	s.do(func(w *world) {
		if len(w.handshakes) > 0 {
			h, w.handshakes = w.handshakes[0], w.handshakes[1:]
		}
	})
	if h.Refuse != 0 {
		http.Error(rw, http.StatusText(h.Refuse), h.Refuse)
		return
	}
	upgrader := websocket.Upgrader{}
	ws, err := upgrader.Upgrade(rw, r, nil)
	if err != nil {
		return // Upgrade has responded
	}
	defer func() { _ = ws.Close() }()
	c := &connection{
		ws: ws, version: r.URL.Query().Get("v"), handshake: h, wake: make(chan struct{}, 1), gone: make(chan struct{}),
		record: &Connection{At: time.Now(), Open: true}, window: time.Now(),
	}
	if !s.attach(c, r.URL.Query().Get("encoding")) {
		return
	}
	defer s.sockets.Done()
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.write(c)
	}()
	s.read(c)
	close(c.gone)
	<-written
	s.do(func(w *world) {
		delete(w.open, c)
		c.record.Open = false
		if c.session != nil && c.session.conn == c {
			c.session.conn = nil
		}
	})
}

// attach registers a connection and sends HELLO (Discord, Gateway: Hello Event; Gateway URL Query
// String Params).
func (s *Server) attach(c *connection, encoding string) (ok bool) {
	s.do(func(w *world) {
		select {
		case <-s.closed:
			return
		default:
		}
		ok = true
		s.sockets.Add(1)
		w.open[c] = struct{}{}
		w.connections = append(w.connections, c.record)
		switch {
		case c.version != "9" && c.version != "10":
			c.push(frame{close: CloseInvalidVersion})
		case encoding != "json": // the double does not support etf
			c.push(frame{close: CloseDecodeError})
		case !c.handshake.SilentHello:
			hello := map[string]any{"heartbeat_interval": w.options.Heartbeat.Milliseconds()}
			c.push(packet(opHello, hello))
		}
	})
	return ok
}

func (s *Server) write(c *connection) {
	for {
		var f frame
		var some bool
		s.view(func(*world) {
			if some = len(c.queue) > 0 && !c.silent; some {
				f, c.queue = c.queue[0], c.queue[1:]
			}
		})
		switch {
		case !some:
			select {
			case <-c.wake:
			case <-c.gone:
				return
			}
		case f.cut:
			_ = c.ws.Close()
			return
		case f.close != 0:
			c.sendClose(f.close)
			return
		default:
			if c.ws.WriteMessage(websocket.TextMessage, f.data) != nil {
				return // the reader gets the error too
			}
		}
	}
}

// sendClose closes only the sending side: a full close with unread input would make TCP reset the
// connection, and the client would lose the code.
func (c *connection) sendClose(code int) {
	text := websocket.FormatCloseMessage(code, "")
	_ = c.ws.WriteControl(websocket.CloseMessage, text, time.Now().Add(time.Second))
	if tcp, ok := c.ws.UnderlyingConn().(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	_ = c.ws.SetReadDeadline(time.Now().Add(5 * time.Second))
}

// read handles what the client sends until the socket ends. A client without timely heartbeats is
// disconnected and may resume (Discord, Gateway: Heartbeat Interval).
func (s *Server) read(c *connection) {
	_ = c.ws.SetReadDeadline(time.Now().Add(s.options.HeartbeatWithin))
	for {
		_, data, err := c.ws.ReadMessage()
		if err != nil {
			s.do(func(w *world) { w.ended(c, err) })
			return
		}
		s.do(func(w *world) {
			if c.ending {
				return
			}
			if code := w.received(c, data); code != 0 {
				c.push(frame{close: code})
			}
			if isHeartbeat(data) && !c.ending {
				_ = c.ws.SetReadDeadline(time.Now().Add(w.options.HeartbeatWithin))
			}
		})
	}
}

func isHeartbeat(data []byte) bool {
	var p discordgo.Event
	return json.Unmarshal(data, &p) == nil && p.Operation == opHeartbeat
}

// ended records how the client disconnected. Closing with 1000 or 1001 ends the session; otherwise
// it can be resumed (Discord, Gateway: Initiating a Disconnect).
func (w *world) ended(c *connection, err error) {
	var code *websocket.CloseError
	if !errors.As(err, &code) {
		return
	}
	if !c.ending {
		c.record.ClientClose = code.Code
	}
	gaveUp := code.Code == websocket.CloseNormalClosure || code.Code == websocket.CloseGoingAway
	if gaveUp && !c.ending && c.session != nil {
		delete(w.sessions, c.session.id)
	}
}
