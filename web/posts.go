// A limit on the messages that programs post: a hook that posts each reply again would cause turns for ever.

package web

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// posts are the limits of conversations to which programs post.
type posts struct {
	mu sync.Mutex // guards of
	of map[string]*postLimit
}

type postLimit struct {
	left  *rate.Limiter
	often rate.Sometimes // limits warnings
}

const maxPostLimits = 4096 // conversations that are tracked; if there are more, all are forgotten

// limit returns the limit of a conversation, which lets through a burst of perHour messages, and as many in each hour.
func (p *posts) limit(conversation string, perHour int) *postLimit {
	p.mu.Lock()
	defer p.mu.Unlock()
	of, known := p.of[conversation]
	if !known {
		if p.of == nil || len(p.of) >= maxPostLimits {
			p.of = make(map[string]*postLimit)
		}
		of = &postLimit{left: rate.NewLimiter(0, perHour), often: rate.Sometimes{Interval: time.Hour}}
		p.of[conversation] = of
	}
	of.left.SetLimit(rate.Limit(float64(perHour) / time.Hour.Seconds()))
	of.left.SetBurst(perHour)
	return of
}

// takePost counts a message that a program posts, or returns the problem that refuses it. On the dashboard a person writes:
// browsers send Origin with each POST (https://fetch.spec.whatwg.org/#origin-header), programs mostly not.
func (c *chats) takePost(r *request, conversation string) error {
	perHour := c.settings().Web.PostsPerHour
	if perHour == 0 || r.Header.Get("Origin") != "" {
		return nil
	}
	limit := c.posts.limit(conversation, perHour)
	next := limit.left.Reserve()
	wait := next.Delay()
	if wait == 0 {
		return nil
	}
	next.Cancel()
	limit.often.Do(func() {
		c.log.Warn("posts_per_hour_reached", "conversation", conversation, "limit", perHour, "effect", "the API refuses further messages of programs")
	})
	p := problem(http.StatusTooManyRequests, "Programs have posted %d messages here within an hour, which is the limit (posts_per_hour under [web]).", perHour)
	p.retry = wait + time.Second // the header has no fractions of seconds
	return p
}
