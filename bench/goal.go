package main

import (
	"fmt"
	"strings"
)

// goal is a target: what it must be, and what it is.
type goal struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Must  float64 `json:"must"`
	Met   bool    `json:"met"`
}

// unmet tells which goals were missed; nil: none was.
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

// none is a goal that there is nothing of its kind.
func none(name string, n int) goal { return atMost(name, float64(n), 0) }

// targets are the goals of a result.
type targets struct {
	Targets []goal `json:"targets,omitempty"`
}

func (t targets) goals() []goal { return t.Targets }
