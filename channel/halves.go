package channel

import (
	"context"
	"time"
)

// withdrawnLately is how long after the deletion of a question what was shown of its answer is still looked for: the next start
// may be the first that can.
const withdrawnLately = time.Hour

// removeHalves removes what an earlier process showed of answers to questions that were deleted since, and that it was killed before
// it could remove itself.
func (b *backfill) removeHalves(ctx context.Context) error {
	_, keeps := b.connector.(Historian) // what was shown stays after the process has ended
	if b.tidy || !keeps {
		return nil
	}
	withdrawn, err := b.records.Turns().Withdrawn(ctx, time.Now().Add(-withdrawnLately))
	if err != nil {
		return err
	}
	for _, question := range withdrawn {
		if !isPlatformID(question) {
			continue
		}
		_, err := callConnector(ctx, historyTimeout, func(context.Context) (struct{}, error) {
			b.connector.Reply(b.conversation, []string{question}).Cancel()
			return struct{}{}, nil
		})
		if err != nil {
			b.log.Error("remove_half_failed", "error", err)
		}
	}
	b.tidy = true
	return nil
}
