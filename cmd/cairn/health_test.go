package main

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"
)

func TestFrequentHealthRequestsShareACheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, checks := &health{ctx: t.Context()}, 0
		ask := func() {
			w := httptest.NewRecorder()
			h.answer(w, "ready", func(context.Context) state {
				checks++
				return state{OK: checks == 1}
			})
			check.Equal(t, "status", w.Code, map[int]int{1: 200, 2: 503}[checks])
		}
		for range 10 {
			ask()
		}
		check.Equal(t, "checks at once", checks, 1)
		time.Sleep(probeTTL)
		ask()
		check.Equal(t, "checks a second later", checks, 2)
	})
}
