package slack

import (
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestReadable(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	bob := r.w.AddUser("bob")
	guest := r.w.AddUser("guest")
	r.w.Guest(guest)
	secret := r.w.AddPrivateChannel("secret")
	r.w.Join(secret, slacktest.BotUserID)
	r.w.Join(secret, bob)
	all := []string{
		r.connector.self.place(general, "").String(), r.connector.self.place(general, "1700000000.000100").String(),
		r.connector.self.place(secret, "").String(), "slack:T9/" + general,
	}
	readable := func(person string) []string { return check.Must(r.connector.Readable(t.Context(), person, all))(t) }
	check.EqualAll(t, "what ann may read", readable(ann), all[:2])
	check.EqualAll(t, "what bob, who is in the private channel, may read", readable(bob), all[:3])
	check.EqualAll(t, "what a guest may read", readable(guest), nil)
	r.w.Join(general, guest)
	check.EqualAll(t, "what a guest of a channel may read", readable(guest), all[:2])
	r.w.Leave(secret, bob)
	check.EqualAll(t, "what bob, who has left, may read", readable(bob), all[:2])
	_, err := r.connector.Readable(t.Context(), "U404", all)
	check.That(t, err != nil, "a failure is reported")
	link := r.connector.MessageLink(all[1], "1700000000.000200")
	check.Equal(t, "a link", link, r.connector.self.url+"archives/"+general+"/p1700000000000200?cid="+general+"&thread_ts=1700000000.000100")
	check.Equal(t, "a link to what is no message", r.connector.MessageLink(all[1], "reply-1"), "")
	read := func(link string) string {
		place, id := r.connector.MessageAt(link)
		return place + " " + id
	}
	check.Equal(t, "the message of a link", read(link), all[1]+" 1700000000.000200")
	check.Equal(t, "that of a sentence", read(r.connector.MessageLink(all[0], "1700000000.000200")+"."), all[0]+" 1700000000.000200")
	top := r.connector.self.url + "archives/" + general + "/p1700000000000100?thread_ts=1700000000.000100&cid=" + general
	check.Equal(t, "that at the top of a thread", read(top), all[0]+" 1700000000.000100")
	for _, other := range []string{"https://other.slack.com/archives/" + general + "/p1700000000000200", r.connector.self.url + "archives/" + general, r.connector.self.url, ""} {
		check.Equal(t, other, read(other), " ")
	}
}
