package channeltest

import (
	"context"

	"cairn/channel"
)

// Silent is a connector of this name that accepts every piece and shows nothing.
type Silent string

func (s Silent) Name() string                                               { return string(s) }
func (Silent) Split(text string) []string                                   { return []string{text} }
func (s Silent) Reply(string, []string) channel.Writer                      { return s }
func (Silent) Show(string)                                                  {}
func (Silent) Cancel()                                                      {}
func (Silent) Send(_ context.Context, p channel.Piece) (id string, _ error) { return p.Reply, nil }
