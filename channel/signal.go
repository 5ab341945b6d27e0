package channel

import "sync"

// How goroutines tell each other that there may be something to do.

// signal tells a goroutine that there may be something to do. It does not block.
type signal chan struct{}

func (s signal) set() {
	select {
	case s <- struct{}{}:
	default: // it will look anyway
	}
}

// bell tells all who wait that there may be something to do. The zero bell is ready to use.
type bell struct {
	mu   sync.Mutex
	rung chan struct{} // closed when it rings; nil: nobody waits
}

// next returns a channel that is closed when the bell rings the next time.
func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}
