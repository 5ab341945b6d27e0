// The buttons of a conversation's page.

package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// commandForm runs the command of a button on a conversation's page.
func commandForm(v *visit) error {
	command := v.PathValue("command")
	path := apiOf(v.name()) + "/" + command
	var body any
	var done doneAnswer
	var job jobAnswer
	answer := any(&done)
	switch command {
	case "compact":
		body, answer = compactBody{Focus: strings.TrimSpace(v.PostForm.Get("focus"))}, &job
	case "undo":
		answer = &job
	case "allow", "deny":
		allow := command == "allow"
		path, body = apiOf(v.name())+"/approvals/"+url.PathEscape(v.PostForm.Get("code")), approveBody{&allow}
	case "new", "pause", "resume":
	default:
		return problem(http.StatusNotFound, "There is no such command.")
	}
	if err := v.ask(http.MethodPost, path, nil, body, answer); err != nil {
		return v.redirectProblem(pageOf(v.name()), err)
	}
	if answer == &job {
		return v.redirectWithNote(pageOf(v.name()), job.words())
	}
	return v.redirectWithNote(pageOf(v.name()), cmp.Or(done.Reason, doneWords[command]))
}

var doneWords = map[string]string{
	"new":    "A new session. The earlier messages are summarized in the background; nothing is lost.",
	"pause":  "The bot is paused here until it is resumed. Messages are still saved.",
	"resume": "The bot is answering here again.",
}

// words describes the result of a compaction.
func (j jobAnswer) words() string {
	switch j.State {
	case "noop":
		return "Nothing was done: " + j.Reason + "."
	case "applied", "undone":
		return fmt.Sprintf("Done: %d → %d tokens.", j.Before, j.After)
	case "scheduled":
		return "Scheduled: it starts once the running compaction has ended."
	}
	return fmt.Sprintf("Summarizing messages #%d to #%d in the background. The conversation goes on.", j.From, j.To)
}

// redirectProblem redirects to a page that shows why a request was rejected. A failure of the bot
// has its own page.
func (v *visit) redirectProblem(to string, err error) error {
	p := v.s.problemOf(v.Request, err)
	if p.Status >= 500 || p.Status == http.StatusNotFound {
		return p
	}
	return v.redirectWithNote(to, p.Detail)
}

// pausedView says so if the bot does not answer in a conversation.
func (v *visit) pausedView(conversation string) (g.Node, error) {
	here, all, err := v.s.operator.Paused(v.Context(), conversation)
	switch {
	case all:
		return warning("The whole bot is paused: it saves messages, but does not answer them. /resume everywhere ends that."), err
	case here:
		return h.Div(
			h.Class("note warn"),
			h.P(g.Text("The bot is paused here: it saves messages, but does not answer them. /resume ends that.")),
			form(pageOf(conversation)+"/resume", button("", "Answer again")),
		), err
	}
	return nil, err
}
