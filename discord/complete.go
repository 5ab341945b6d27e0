// Attached files: text and pictures are fetched, other files are only described.

package discord

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"cairn/channel"
	"cairn/internal/platform"
)

const completeTimeout = 10 * time.Second

// Complete fetches the files of a message. A file that cannot be fetched stays described.
func (d *Discord) Complete(ctx context.Context, _ string, m channel.Inbound) (_ channel.Inbound, err error) {
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	m.Attachments, err = d.files.Complete(ctx, m.Attachments)
	m.Incomplete = err != nil
	return m, err
}

// fetch downloads at most limit bytes of a file. It returns nil without an error if the file is not
// available. File URLs are signed, so the token is not sent.
func (d *Discord) fetch(ctx context.Context, address string, limit int) ([]byte, error) {
	q, err := http.NewRequestWithContext(platform.AtMost(ctx, limit), http.MethodGet, address, nil)
	if err != nil {
		return nil, platform.WithoutURL(err)
	}
	q.Header.Set("User-Agent", userAgent)
	resp, err := d.rest.client.Do(q)
	if err != nil {
		return nil, platform.WithoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("HTTP %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, nil
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil && !platform.TooLong(err) {
		return nil, platform.WithoutURL(err)
	}
	return data, nil
}
