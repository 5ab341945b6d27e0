package slack

import "strings"

// Account returns the id of the Slack app, which is a part of its app-level token, xapp-VERSION-APP-…; "" if that cannot be read. It
// tells apart two apps before they connect.
func (s *Slack) Account() string {
	parts := strings.Split(s.o.AppToken, "-")
	if len(parts) < 4 || parts[0] != "xapp" || !strings.HasPrefix(parts[2], "A") {
		return ""
	}
	return parts[2]
}
