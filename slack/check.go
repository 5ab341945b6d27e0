package slack

import (
	"context"
	"fmt"
)

// Check asks Slack whether the tokens are valid and what they allow, without connecting. It returns
// its findings, one sentence each; the error says what a person has to do, or that Slack cannot be
// reached.
func (s *Slack) Check(ctx context.Context) (facts []string, err error) {
	defer s.api.close()
	if err := s.probe(ctx); err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("both tokens are good: the app is %s in workspace %s", s.self.name, s.self.team)}, nil
}
