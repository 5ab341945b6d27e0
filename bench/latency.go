package main

import "github.com/spf13/cobra"

func newLatency(s *screen) *cobra.Command { return &cobra.Command{Use: "latency", Args: cobra.NoArgs} }
