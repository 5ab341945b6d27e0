// What is known of the latest messages. Events leave much out, and Slack does not guarantee their order.

package slack

import (
	"encoding/json"
	"strings"

	"cairn/chat"
	"cairn/connector/platform"
)

// recent caches facts about messages, by channel and ts.
type recent struct {
	self      *self
	threaded  bool           // in a direct message with an agent, each thread is a conversation: Options.Direct is not "one"
	authors   platform.Cache // "person/team"
	threads   platform.Cache // the ts of their threads
	claims    platform.Cache // what the bot's messages belong to, see claim
	stops     platform.Cache // streams that people have stopped, see noteStopped
	firsts    platform.Cache // the first message seen in a thread, and the first reply to the bot there, see replyToBotKey
	deletions platform.Cache // deleted messages
	edits     platform.Cache // edited messages, as JSON
}

// placeOf returns the place of a message. The event of a deletion may leave the thread out, so it is cached.
func (r *recent) placeOf(channelID string, m message) chat.Place {
	if r.isOne(channelID) {
		return r.self.place(channelID, "")
	}
	return r.self.place(channelID, r.threadOf(channelID, m))
}

// threadOf returns the thread that a message is in; empty if it is at the top.
func (r *recent) threadOf(channelID string, m message) string {
	thread := m.Thread
	if thread == "" {
		thread, _ = r.threads.Find(channelID + "/" + m.TS)
	}
	if thread == m.TS {
		return ""
	}
	return thread
}

// answeredIn returns the thread in which a message of a direct message with an agent is answered; elsewhere that in which it is.
func (r *recent) answeredIn(channelID string, m message) string {
	thread := r.threadOf(channelID, m)
	if thread == "" && r.isWithAgent(channelID) {
		return m.TS
	}
	return thread
}

// isOne reports whether a channel is a direct message whose threads are one conversation.
func (r *recent) isOne(channelID string) bool { return !r.threaded && r.isWithAgent(channelID) }

// isWithAgent reports whether a channel is a direct message with an agent, in which Slack shows threads only.
func (r *recent) isWithAgent(channelID string) bool {
	return r.self.agent && r.self.place(channelID, "").Direct()
}

// noteAuthor notes who wrote a message. An empty team is the bot's.
func (r *recent) noteAuthor(channelID, ts, person, team string) {
	if team == "" {
		team = r.self.team
	}
	r.authors.Set(channelID+"/"+ts, person+"/"+team)
}

// noteFromBot notes that the bot wrote a message.
func (r *recent) noteFromBot(channelID, ts string) {
	r.noteAuthor(channelID, ts, r.self.user, "")
}

// author returns who wrote a message, if that is known.
func (r *recent) author(channelID, ts string) (person, team string, known bool) {
	author, known := r.authors.Find(channelID + "/" + ts)
	person, team, _ = strings.Cut(author, "/")
	return person, team, known
}

// noteReply notes that a message is in a thread.
func (r *recent) noteReply(channelID, ts, thread string) {
	r.threads.Set(channelID+"/"+ts, thread)
}

// startsThread reports whether a message is the first one seen in a thread. If there was none, it is from now on.
func (r *recent) startsThread(place chat.Place, ts string) bool {
	first, _ := r.firsts.First(place.Channel+"/"+place.Thread, ts)
	return first == ts
}

func replyToBotKey(place chat.Place) string { return "bot/" + place.Channel + "/" + place.Thread }

// isFirstReplyToBot reports whether a message is the first reply to the bot in a thread. If there was none, it is from now on.
func (r *recent) isFirstReplyToBot(place chat.Place, ts string) bool {
	first, _ := r.firsts.First(replyToBotKey(place), ts)
	return first == ts
}

// noteReplyToBot notes that somebody has replied to the bot in a thread: no later message is the first reply.
func (r *recent) noteReplyToBot(place chat.Place) {
	r.firsts.First(replyToBotKey(place), "")
}

// hasReplyToBot reports whether somebody has replied to the bot in a thread.
func (r *recent) hasReplyToBot(place chat.Place) bool {
	_, known := r.firsts.Find(replyToBotKey(place))
	return known
}

// noteStopped notes that a person has stopped a stream, if it is the bot's.
func (r *recent) noteStopped(channelID, ts string) {
	r.stops.Set(channelID+"/"+ts, "")
	if answers, _ := r.claims.Find(channelID + "/" + ts); isTS(answers) {
		r.stops.Set(channelID+"/"+answers, ts)
	}
}

func (r *recent) isStopped(channelID, ts string) bool {
	_, stopped := r.stops.Find(channelID + "/" + ts)
	return stopped
}

// stopped returns the stream of the answer to a message, if a person has stopped it.
func (r *recent) stopped(channelID, answers string) (ts string) {
	ts, _ = r.stops.Find(channelID + "/" + answers)
	return ts
}

// forgetStop forgets that the answer to a message was stopped: the next attempt at it has another stream.
func (r *recent) forgetStop(channelID, answers string) {
	r.stops.Set(channelID+"/"+answers, "")
}

const finished = "finished" // the claim on a message that is no draft any more

// claim reports whether a draft belongs to the answer to the message answers. A stream has no mark until it is stopped, and
// two answers may be written in one thread: the first of them to claim a draft has it.
func (r *recent) claim(channelID, ts, answers string) bool {
	owner, _ := r.claims.First(channelID+"/"+ts, answers)
	return owner == answers
}

func (r *recent) isClaimed(channelID, ts string) bool {
	_, claimed := r.claims.Find(channelID + "/" + ts)
	return claimed
}

// noteFinished notes that a message of the bot is no draft.
func (r *recent) noteFinished(channelID, ts string) {
	r.claims.Set(channelID+"/"+ts, finished)
}

// noteEdit notes the latest version of a message: m, unless that is late.
func (r *recent) noteEdit(channelID string, m message) {
	latest, _ := r.current(channelID, m)
	encoded, _ := json.Marshal(latest) // what was decoded can be encoded
	r.edits.Set(channelID+"/"+m.TS, string(encoded))
}

func (r *recent) noteDeletion(channelID, ts string) {
	key := channelID + "/" + ts
	r.deletions.Set(key, "")
	r.edits.Set(key, "") // not even in memory
}

// current returns a message as its latest edit left it, and whether it was not deleted: an event may be late, because Slack does not
// guarantee the order, and so may a page of the history that was read before it was requested.
func (r *recent) current(channelID string, m message) (_ message, there bool) {
	key := channelID + "/" + m.TS
	now := message{}
	latest, _ := r.edits.Find(key) // empty: it was not edited
	if json.Unmarshal([]byte(latest), &now) == nil && (m.Edited == nil || !timeOf(m.Edited.TS).After(timeOf(now.Edited.TS))) {
		m.Text = now.Text
		m.Blocks = now.Blocks
		m.Attachments = now.Attachments
		m.Files = now.Files
		m.Room = now.Room
		m.Edited = now.Edited
	}
	_, deleted := r.deletions.Find(key)
	return m, !deleted
}
