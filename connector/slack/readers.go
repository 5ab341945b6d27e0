// Who may read a channel. A search through all conversations asks this before it looks into one.

package slack

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"regexp"
	"strings"

	"cairn/chat"
)

// readerPages is how many pages of channels one question reads.
const readerPages = 10

// Readable implements channel.Reader: members may read a channel, and everybody but guests a public one. Slack is asked each time.
func (s *Slack) Readable(ctx context.Context, person string, conversations []string) (readable []string, err error) {
	may, err := s.channelsOf(ctx, person, kinds[:3])
	u, failed := s.api.read.GetUserInfoContext(ctx, person)
	if failed == nil && u.TeamID == s.self.team && !u.Deleted && !u.IsRestricted && !u.IsUltraRestricted {
		var public map[string]bool
		public, failed = s.channelsOf(ctx, "", kinds[:1])
		maps.Copy(may, public)
	}
	for _, conversation := range conversations {
		at := chat.ParsePlace(conversation)
		if at.Server == s.self.team && may[at.Channel] {
			readable = append(readable, conversation)
		}
	}
	return readable, errors.Join(err, failed)
}

// Public implements channel.Resolver. Slack is asked each time.
func (s *Slack) Public(ctx context.Context, conversation string) bool {
	public, err := s.channelsOf(ctx, "", kinds[:1])
	if err != nil {
		s.Log.Debug("list_channels_failed", "error", err)
	}
	at := chat.ParsePlace(conversation)
	return at.Server == s.self.team && public[at.Channel]
}

// channelsOf returns the ids of the channels of some kinds that a person, or if it is empty the bot, is in.
func (s *Slack) channelsOf(ctx context.Context, person string, kinds []string) (map[string]bool, error) {
	all, more, err := s.api.channels(ctx, person, kinds, readerPages)
	if more && err == nil {
		err = errors.New("Slack lists more channels than are read")
	}
	ids := make(map[string]bool, len(all))
	for _, c := range all {
		ids[c.ID] = true
	}
	return ids, err
}

// MessageLink implements channel.Linker.
func (s *Slack) MessageLink(conversation, id string) string {
	at := chat.ParsePlace(conversation)
	number := strings.Replace(id, ".", "", 1) // ids are times, 1700000000.000100
	if s.self.url == "" || number == id {
		return ""
	}
	link := s.self.url + "archives/" + url.PathEscape(at.Channel) + "/p" + url.PathEscape(number)
	if at.Thread != "" {
		link += "?" + url.Values{"thread_ts": {at.Thread}, "cid": {at.Channel}}.Encode()
	}
	return link
}

// messagePath matches the path of a message's address, below that of the workspace: its channel, and its ts without the dot.
var messagePath = regexp.MustCompile(`^archives/([A-Z0-9]+)/p(\d+)(\d{6})$`)

// MessageAt implements channel.Resolver.
func (s *Slack) MessageAt(link string) (place, id string) {
	rest, ours := strings.CutPrefix(strings.TrimRight(link, ".,;:!?'"), s.self.url)
	u, err := url.Parse(rest)
	if s.self.url == "" || !ours || err != nil {
		return "", ""
	}
	m := messagePath.FindStringSubmatch(u.Path)
	if m == nil {
		return "", ""
	}
	id = m[2] + "." + m[3]
	thread := u.Query().Get("thread_ts")
	if thread == id {
		thread = ""
	}
	return s.self.place(m[1], thread).String(), id
}
