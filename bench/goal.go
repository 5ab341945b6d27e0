package main

import (
	"fmt"
	"strings"
)

// goal is a target: what it must be, what it aims to be, and what it is.
type goal struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Must  float64 `json:"must"`
	Aim   float64 `json:"aim"`
	Met   bool    `json:"met"` // what it must be
	Hit   bool    `json:"aim_met"`
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

// verdict is one goal as people read it.
func verdict(s *screen, g goal) string {
	told := s.paint(green, "met")
	if !g.Met {
		told = s.paint(red, "missed")
	}
	return fmt.Sprintf("%s%s   must %g: %s", left(g.Name, 56), right(fmt.Sprintf("%.2f", g.Value), 8), g.Must, told)
}
