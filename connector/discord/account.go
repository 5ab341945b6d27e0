package discord

import (
	"encoding/base64"
	"strings"
)

// Account returns the id of the bot's user, which is the first part of its token (Discord, Reference: Authentication); "" if that
// cannot be read. It tells apart two bots before they connect.
func (d *Discord) Account() string {
	first, _, _ := strings.Cut(d.o.Token, ".")
	id, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(first, "="))
	if err != nil || strings.Trim(string(id), "0123456789") != "" {
		return ""
	}
	return string(id)
}
