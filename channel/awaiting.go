package channel

import (
	"context"
	"time"
)

// answerPoll is how often AwaitAnswer looks at the disk, in a conversation that others keep busy.
const answerPoll = 100 * time.Millisecond

// AwaitAnswer returns once a message, by its platform id, is answered, and the replies are sent; also when the conversation has nothing
// left that it can do now. Idle would wait for what others say in the same conversation, too.
func AwaitAnswer(ctx context.Context, h *Hub, name, id string) error {
	records, err := h.o.Store.Conversation(ctx, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	idle := make(chan error, 1)
	go func() { idle <- h.Idle(ctx, name) }()
	for {
		select {
		case err := <-idle:
			cancel()
			return err
		case <-time.After(answerPoll):
		}
		open, err := records.Turns().Open(ctx, id)
		if err == nil && open {
			continue
		}
		cancel()
		<-idle
		return err
	}
}
