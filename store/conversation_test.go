package store_test

import (
	"sync"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

// Concurrent callers who name a conversation get the same one.
func TestConcurrentConversationLookup(t *testing.T) {
	dir := t.TempDir()
	stores := []*store.Store{storetest.OpenStore(t, dir)}
	for range 2 { // like a shell beside the bot
		s := check.Must(store.Open(ctx, store.Options{Dir: dir, Shared: true}))(t)
		defer s.Close()
		stores = append(stores, s)
	}
	var mu sync.Mutex
	ids := make(map[int64]int)
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			c, err := stores[i%len(stores)].Conversation(ctx, "terminal:general")
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[c.ID()]++
		})
	}
	wg.Wait()
	names, err := storetest.AllNames(stores[0])
	check.NoError(t, err)
	check.Len(t, "conversations", names, 1)
	check.Equal(t, "with the numbers", len(ids), 1)
}
