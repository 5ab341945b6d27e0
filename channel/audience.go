package channel

import "cairn/memory"

// Audience is who may read a place, beside those who are in it. A connector that does not
// know leaves it empty.
type Audience = memory.Audience

// The audiences.
const (
	Members     = memory.Members     // a private channel or thread, a direct message
	ChannelWide = memory.ChannelWide // a thread: all who may read its channel
	ServerWide  = memory.ServerWide  // a public channel, and its public threads
)
