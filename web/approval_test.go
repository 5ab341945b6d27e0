package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/internal/check"
)

// asking returns a rig with a pending approval in a conversation of the browser.
func asking(t *testing.T) (*rig, *channeltest.Box, channel.Approval) {
	box := &channeltest.Box{Approve: channel.ApproveAlways}
	r := newRig(t, rigOptions{tools: box, model: channeltest.Add})
	r.send("please add")
	return r, box, r.waits()
}

const pane = "web:general"

// waits returns the first pending call in the pane.
func (r *rig) waits() channel.Approval {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if all := r.hub.Operator().Approvals(pane); len(all) > 0 {
			return all[0]
		}
		check.Require(r.t, !time.Now().After(end), "got no pending call")
	}
}

func TestApprovalAPI(t *testing.T) {
	r, box, waits := asking(t)
	d := get[conversationAnswer](r, at(pane, ""))
	if len(d.Approvals) != 1 || d.Approvals[0].Code != waits.Code || d.Approvals[0].Tool != "calc_add" || strings.Contains(d.Approvals[0].Arguments, "a1B2a1B2") {
		t.Errorf("got %+v", d.Approvals)
	}
	answer := at(pane, "/approvals/"+waits.Code)
	r.do(404, nil, "POST", at(pane, "/approvals/other"), `{"allow":true}`)
	r.do(422, nil, "POST", answer, `{}`)
	r.do(200, nil, "POST", answer, `{"allow":true}`)
	check.NoError(t, r.hub.Idle(t.Context(), pane))
	check.Len(t, "calls", box.Called(), 1)
	r.do(404, nil, "POST", answer, `{"allow":true}`)
}

func TestApprovalIsDeniedOnPage(t *testing.T) {
	r, box, waits := asking(t)
	for _, path := range []string{pageOf(pane), "/chat/general"} {
		check.Contains(t, fmt.Sprintf("%s shows no question", path), r.do(200, nil, "GET", path, ""), "The model wants to call <b>calc_add</b>")
	}
	r.do(200, nil, "POST", at(pane, "/approvals/"+waits.Code), `{"allow":false}`)
	check.NoError(t, r.hub.Idle(t.Context(), pane))
	check.Len(t, "calls", box.Called(), 0)
	page := r.do(200, nil, "GET", "/chat/general", "")
	check.Lacks(t, "the pane still shows the question", page, "wants to call")
	check.Contains(t, "the pane still shows the question", page, "did not allow this call")
}

func approvalInBrowser(t *testing.T) {
	box := &channeltest.Box{Approve: channel.ApproveAlways}
	r := newRig(t, rigOptions{tools: box, model: channeltest.Add})
	b := newBrowser(t, r.url)
	b.open("/chat/general")
	b.keys("#text", "please add")
	b.enter()
	b.sees("#said", "wants to call")
	b.audited("approval")
	b.shows("#stop")
	b.click(`#said form[data-body*="true"] button`)
	b.sees("#said", "The tool says: five")
	b.sees("#note", "allowed the call of calc_add")
}
