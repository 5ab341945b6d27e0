package main

import (
	"fmt"
	"strings"
)

// goal is a target value and the measured value.
type goal struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Must  float64 `json:"must"`
	Met   bool    `json:"met"`
}

// unmet returns an error that lists the missed goals; nil if there are none.
func unmet(goals []goal) error {
	var short []string
	for _, g := range goals {
		if !g.Met {
			short = append(short, fmt.Sprintf("%s is %.2f, not %.2f", g.Name, g.Value, g.Must))
		}
	}
	if len(short) == 0 {
		return nil
	}
	return missed(strings.Join(short, "; "))
}

func atLeast(name string, value, must float64) goal { return goal{name, value, must, value >= must} }

func atMost(name string, value, must float64) goal { return goal{name, value, must, value <= must} }

// zero is the goal that something never happens.
func zero(name string, n int) goal { return atMost(name, float64(n), 0) }

// targets are the goals of a result.
type targets struct {
	Targets []goal `json:"targets,omitempty"`
}

func (t targets) goals() []goal { return t.Targets }
