package llmtest

import (
	"context"
	"time"

	"cairn/llm"
)

// Prefilling returns a model that reads each request for a while, during which its server sends keep-alives if beat is not 0,
// and then answers.
func Prefilling(reads func(llm.Request) time.Duration, beat time.Duration, answer func(context.Context, int, llm.Request) (llm.Response, error)) *Model {
	return &Model{Delay: time.Second, Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		end := time.Now().Add(reads(req))
		for wait := time.Until(end); wait > 0; wait = time.Until(end) {
			if beat > 0 {
				req.Alive()
				wait = min(wait, beat)
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return llm.Response{}, ctx.Err()
			}
		}
		return answer(ctx, n, req)
	}}
}
