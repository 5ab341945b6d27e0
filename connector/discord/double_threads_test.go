// The double of Discord: threads that a bot starts.

package discord

import (
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

func TestTheStartOfAThreadIsJudged(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{})
	m := v.Say(v.channel, v.person.ID, "hello").ID
	path := "/channels/{channel}/messages/" + m + "/threads"
	v.refused(v.ask("POST", path, `{"name":"x"}`), 403, 50013)
	v.Allow(v.channel, discordgo.PermissionCreatePublicThreads)
	v.refused(v.ask("POST", path, `{}`), 400, 50035)
	v.refused(v.ask("POST", path, `{"name":"`+strings.Repeat("x", 101)+`"}`), 400, 50035)
	v.refused(v.ask("POST", path, `{"name":"x","auto_archive_duration":5}`), 400, 50035)
	v.refused(v.ask("POST", "/channels/{channel}/messages/1/threads", `{"name":"x"}`), 404, 10008)
	made := read[place](v.ask("POST", path, `{"name":"x"}`).body)
	check.That(t, made.ID == m && made.Owner == v.Bot.ID && made.Parent == v.channel, "the thread is %+v", made)
	v.refused(v.ask("POST", path, `{"name":"x"}`), 400, 160004)
	v.Deny(v.channel, discordgo.PermissionSendMessages) // which has no effect in threads
	v.refused(v.ask("POST", "/channels/{channel}/messages", `{"content":"x"}`), 403, 50013)
	inside := v.post(m, `{"content":"x"}`)
	v.refused(v.ask("POST", "/channels/"+m+"/messages/"+inside+"/threads", `{"name":"x"}`), 400, 50024)
	second := v.Say(v.channel, v.person.ID, "hello again").ID
	v.ask("POST", "/channels/{channel}/messages/"+second+"/threads", `{"name":"y"}`)
	v.post(second, `{"content":"x"}`)
	v.Deny(v.channel, discordgo.PermissionSendMessagesInThreads)
	v.refused(v.ask("POST", "/channels/"+second+"/messages", `{"content":"x"}`), 403, 50013)
	v.Allow(v.channel, discordgo.PermissionSendMessagesInThreads)
	direct := v.Direct(v.person.ID).ID
	private := v.Say(direct, v.person.ID, "hello").ID
	v.refused(v.ask("POST", "/channels/"+direct+"/messages/"+private+"/threads", `{"name":"x"}`), 400, 50024)
	starter := v.Messages(m)[0]
	v.refused(v.ask("POST", "/channels/"+m+"/messages", `{"content":"x","message_reference":{"message_id":"`+starter.ID+`"}}`), 400, 50035)
}
