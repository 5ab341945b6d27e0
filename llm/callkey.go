package llm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Two values of a context: what its calls belong to, and the key of the call that runs.
type (
	callsOf struct{}
	callKey struct{}
)

// calls counts the calls of a turn.
type calls struct {
	of    string
	count map[string]int // by tool and arguments
}

// WithCallKeys returns a context in which each call of a tool gets a key. of names what the calls belong to, such as a
// turn: if it is attempted again after a crash, the same call has the same key, so that a server can recognize it. Calls
// under one context must not run at the same time.
func WithCallKeys(ctx context.Context, of string) context.Context {
	return context.WithValue(ctx, callsOf{}, &calls{of, map[string]int{}})
}

// withCallKey returns the context of one call.
func withCallKey(ctx context.Context, tool string, arguments json.RawMessage) context.Context {
	all, _ := ctx.Value(callsOf{}).(*calls)
	if all == nil {
		return ctx
	}
	call := tool + "\x00" + string(arguments)
	all.count[call]++
	hash := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", all.of, call, all.count[call]))
	return context.WithValue(ctx, callKey{}, hex.EncodeToString(hash[:16]))
}

// CallKey returns the key of the call that runs under a context: 32 hexadecimal digits; "" if it has none.
func CallKey(ctx context.Context) string {
	key, _ := ctx.Value(callKey{}).(string)
	return key
}
