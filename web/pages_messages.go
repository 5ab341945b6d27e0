// The page of a conversation's messages.

package web

import (
	"fmt"
	"net/url"
	"strconv"
)

// row is a message, or the marker of a summary after it.
type row struct {
	Marker  *summaryLink
	Message *shownMessage
}

func messagesPage(v *visit) error {
	q, before := v.URL.Query().Get("q"), v.URL.Query().Get("before")
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for name, value := range map[string]string{"q": q, "before": before} {
		if value != "" {
			query.Set(name, value)
		}
	}
	var list messageList
	if err := v.get(apiOf(v.name())+"/messages", query, &list); err != nil {
		return err
	}
	var stack summaryList
	if q == "" {
		if err := v.get(apiOf(v.name())+"/summaries", nil, &stack); err != nil {
			return err
		}
	}
	p := pager{}
	if list.Before > 0 {
		p.Earlier = fmt.Sprintf("%s/messages?before=%d", pageOf(v.name()), list.Before)
	}
	if before != "" {
		p.Later = pageOf(v.name()) + "/messages"
	}
	return v.show("messages", struct {
		about
		Query string
		Rows  []row
		Pager pager
	}{v.about("messages"), q, rowsOf(foundMessages(list), summaryLinks(v.name(), append(stack.Past.Earlier, stack.Stack...))), p})
}

// rowsOf inserts summaries after the messages that they cover.
func rowsOf(all []shownMessage, stack []summaryLink) (rows []row) {
	for i := range all {
		rows = append(rows, row{Message: &all[i]})
		for j := range stack {
			last := i == len(all)-1 || all[i+1].Seq > stack[j].To
			if all[i].Seq <= stack[j].To && all[i].Seq >= stack[j].From && last {
				rows = append(rows, row{Marker: &stack[j]})
			}
		}
	}
	return rows
}
