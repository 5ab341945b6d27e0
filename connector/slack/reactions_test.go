// Reactions of people that run commands.

package slack

import (
	"context"
	"strings"
	"testing"
	"time"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

// ignored waits until so many reactions that count have come to nothing.
func (r *rig) ignored(n int) {
	r.T.Helper()
	r.eventually("reactions are ignored", func() bool { return strings.Count(r.Log.String(), "reaction_ignored") == n })
}

func TestReactionsRunCommands(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{Reactions: true, Scopes: append(manifestScopes(), "reactions:read")}, answerN)
	r.opts.Reactions = []string{"pin", "remember"}
	r.opts.ReplyIn = replyAuto
	ben := r.w.AddUser("ben")
	r.w.Admin(ben)
	r.w.Join(general, ben)
	bot := r.w.AddBot("other")
	r.w.Join(general, bot)
	r.begin()
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "The launch is on Friday."})
	reply := r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "The party is on Sunday."})
	r.stored(conversation(general, root), "user: The party is on Sunday.")
	r.end() // nothing is known of threads after a restart
	r.begin()
	r.w.React(general, reply, ben, "brain")
	r.eventually("the mark", func() bool { return len(r.reactions(general, reply)) == 1 })
	check.Contains(t, "memories", r.run(general, ben, "/memories about:ann").String(), "The party is on Sunday.")

	r.w.React(general, reply, ben, "brain") // taken back and put there again
	r.ignored(1)
	r.w.React(general, root, bot, "brain")
	r.w.React(general, root, ben, "octagonal_sign") // which does not count here
	r.w.React(general, root, ann, "pushpin")        // who is no manager
	check.Contains(t, "what she reads", r.awaitPrivate(general, ann, 1).Shown(), "only for people who manage this place")
	check.Lacks(t, "pins", r.run(general, ben, "/pins").String(), "Friday")
	r.w.React(general, root, ben, "pushpin")
	r.eventually("the mark", func() bool { return len(r.reactions(general, root)) > 0 })
	check.Contains(t, "pins", r.run(general, ben, "/pins").String(), "Friday")
	check.Len(t, "what all see", r.botMessages(general), 0)

	r.ask(general, ann, 1)
	answer := r.botMessages(general)[0].TS // in a thread, and in the channel's conversation
	r.Idle(conversation(general))
	r.w.React(general, answer, ben, "pushpin")
	r.eventually("the mark", func() bool { return len(r.reactions(general, answer)) == 1 })
	check.Contains(t, "pins", r.run(general, ben, "/pins").String(), "answer 1")
	r.w.Menu(general, answer, ben, "pin")
	r.eventually("the menu", func() bool {
		all := r.botMessages(general, ben)
		return len(all) > 0 && strings.Contains(all[len(all)-1].Shown(), "is already pinned")
	})
	r.end()
	check.EqualAll(t, "the marks", r.reactions(general, root), []string{"pushpin"})
}

func TestAReactionStopsAnAnswer(t *testing.T) {
	started := make(chan struct{})
	stopped := make(chan struct{})
	r, general, ann := town(t, slacktest.Options{Reactions: true, Scopes: append(manifestScopes(), "reactions:read")}, func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
		close(started)
		<-ctx.Done()
		close(stopped)
		return llm.Response{}, ctx.Err()
	})
	r.opts.Reactions = []string{"stop"}
	ben := r.w.AddUser("ben")
	r.w.Join(general, ben)
	r.begin()
	question := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "tell me"})
	<-started
	r.w.React(general, question, ben, "octagonal_sign") // on what somebody else says
	r.ignored(1)
	r.w.React(general, question, ann, "octagonal_sign")
	<-stopped
	r.Idle(conversation(general))
}

// A process may end before it has done what a reaction asks for. Slack repeats an event that was not acknowledged.
func TestAReactionOutlivesAProcess(t *testing.T) {
	again := make([]time.Duration, 100)
	for i := range again {
		again[i] = 100 * time.Millisecond
	}
	o := slacktest.Options{Reactions: true, Scopes: append(manifestScopes(), "reactions:read"), AckWithin: time.Second, Redeliver: again}
	r, general, ann := town(t, o, answerN)
	r.opts.Reactions = []string{"pin", "remember"}
	r.w.Admin(ann)
	r.begin()
	said := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "The launch is on Friday."})
	r.stored(conversation(general), "user: The launch is on Friday.")
	r.w.Fail(slacktest.Fault{Of: "users.info", RetryAfter: time.Minute, Times: 1})
	asked := r.w.Seen("users.info")
	r.w.React(general, said, ann, "pushpin")
	r.eventually("the process looks who she is", func() bool { return r.w.Seen("users.info") > asked })
	r.end()
	r.begin()
	r.eventually("the mark", func() bool { return len(r.reactions(general, said)) == 1 })
	check.Contains(t, "pins", r.run(general, ann, "/pins").String(), "Friday")

	r.Exec("CREATE TRIGGER refuse BEFORE INSERT ON memories BEGIN SELECT raise(ABORT, 'no'); END")
	r.w.React(general, said, ann, "brain")
	check.Contains(t, "what she reads", r.awaitPrivate(general, ann, 1).Shown(), "That did not work")
	r.Exec("DROP TRIGGER refuse")
	r.w.React(general, said, ann, "brain") // once more
	r.eventually("the second mark", func() bool { return len(r.reactions(general, said)) == 2 })
}

// A reaction may come again after a crash, when its answer is complete and another one is being written.
func TestAReactionStopsNoOtherAnswer(t *testing.T) {
	writes := make(chan struct{}, 2)
	r, general, ann := town(t, slacktest.Options{Reactions: true, Scopes: append(manifestScopes(), "reactions:read")}, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			return answerN(ctx, n, req)
		}
		writes <- struct{}{}
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	})
	r.opts.Reactions = []string{"stop"}
	r.begin()
	r.ask(general, ann, 1)
	r.Idle(conversation(general))
	first := r.said(conversation(general))[0].ID
	second := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "question 2"})
	<-writes
	r.w.React(general, first, ann, "octagonal_sign")
	r.ignored(1)
	r.w.React(general, r.botMessages(general)[0].TS, ann, "octagonal_sign")
	r.ignored(2)
	r.w.React(general, second, ann, "octagonal_sign")
	r.Idle(conversation(general))
}

func TestReactionsNeedTheirScope(t *testing.T) {
	r, _, _ := town(t, slacktest.Options{Scopes: without("reactions:read")}, nil)
	r.opts.Reactions = []string{"stop"}
	r.begin()
	check.Contains(t, "the log", r.Log.String(), "scopes_missing", "reactions:read")
}
