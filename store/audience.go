// Audiences: who may read a place. Connectors report it.

package store

// Audience says who may read a place, besides its members.
type Audience string

// The audiences. A connector that does not know leaves it empty, which changes nothing; if no
// connector has ever reported one, only the members read the place.
const (
	Members      Audience = "members" // a private channel, a private thread, a direct message
	ChannelWide  Audience = "channel" // a thread: all who may read its channel
	ServerWide   Audience = "server"  // a public channel, and its public threads: everybody on the server
	unknownPlace Audience = ""
)

// saveAudience stores what a connector reports about a conversation's audience.
func (c *Conversation) saveAudience(tx *Tx, who Audience) error {
	if who == unknownPlace {
		return nil
	}
	if who == Members {
		who = ""
	}
	_, err := tx.Exec("UPDATE conversations SET audience = ?1 WHERE id = ?2 AND audience <> ?1", who, c.id)
	return err
}
