// The flags of "cairn simulate" that may be given several times.

package main

import (
	"errors"

	"cairn/simulate"
)

// setFlag and vsFlag note variants in the order of the command line.
type setFlag struct{ s *simulation }

func (*setFlag) String() string { return "" }

func (*setFlag) Type() string { return "KEY=VALUE" }

func (f *setFlag) Set(text string) error {
	one, err := simulate.ParseSetting(text)
	if err != nil {
		return err
	}
	if len(f.s.variants) == 0 {
		f.s.variants = append(f.s.variants, simulate.Variant{})
	}
	last := &f.s.variants[len(f.s.variants)-1]
	last.Set = append(last.Set, one)
	return nil
}

type vsFlag struct{ s *simulation }

func (*vsFlag) String() string { return "" }

func (*vsFlag) Type() string { return "bool" }

func (f *vsFlag) Set(text string) error {
	if text != "true" {
		return errors.New("--vs takes no value: it begins a variant, whose settings follow as --set KEY=VALUE")
	}
	f.s.variants = append(f.s.variants, simulate.Variant{})
	return nil
}
