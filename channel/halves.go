package channel

import (
	"context"
	"time"
)

// withdrawnLately is how long after the deletion of a question what was shown of its answer is still looked for: the next start
// may be the first that can.
const withdrawnLately = time.Hour

// removeHalves removes what an earlier process showed of answers to questions that were deleted since, and that it was killed before
// it could remove itself. Only the child calls it.
func (c *conversation) removeHalves(ctx context.Context) error {
	_, keeps := c.connector.(Historian) // what was shown stays after the process has ended
	if c.tidy || !keeps {
		return nil
	}
	withdrawn, err := c.records.Turns().Withdrawn(ctx, time.Now().Add(-withdrawnLately))
	if err != nil {
		return err
	}
	for _, question := range withdrawn {
		if !isPlatformID(question) {
			continue
		}
		_, err := callConnector(ctx, historyTimeout, func(context.Context) (struct{}, error) {
			c.connector.Reply(c.name, []string{question}).Cancel()
			return struct{}{}, nil
		})
		if err != nil {
			c.log.Error("remove_half_failed", "error", err)
		}
	}
	c.tidy = true
	return nil
}
