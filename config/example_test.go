package config_test

import (
	"fmt"

	"cairn/config"
)

func Example() {
	s, err := config.Parse("config.toml", []byte("[defaults.compaction]\nkeep_last_n = 9\n[[agents]]\nid = \"ada\"\n"))
	fmt.Println(s.AgentFor("discord:1/2"), s.Agents[0].Compaction.KeepLastN, err)

	_, err = config.Parse("config.toml", []byte("[defaults.compaction]\nbackground_threshold = 80\n"))
	fmt.Println(err)
	// Output:
	// ada 9 <nil>
	// config.toml:2: [defaults.compaction]: background_threshold = 80: must be from 0.10 to 0.99 (a share of 1: write 0.80 for 80 %)
}
