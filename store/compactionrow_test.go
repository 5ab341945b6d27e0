package store_test

import (
	"reflect"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// fill sets what is zero in a value.
func fill(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(storetest.Day))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case !v.IsZero():
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(1)
	}
}

func TestEachFieldOfASummaryIsStored(t *testing.T) {
	c := imported(t, 4)
	row := transcript.Summary{Kind: transcript.Leaf, By: transcript.Worker, State: transcript.Running}
	fill(reflect.ValueOf(&row).Elem())
	begun := check.Must(c.Compactions().Begin(ctx, row))(t)
	read := reflect.ValueOf(check.Must(c.Compactions().Rows(ctx, []int64{begun.ID}))(t)[0])
	for i := range read.NumField() {
		name := read.Type().Field(i).Name
		check.That(t, !read.Field(i).IsZero() || name == "Cut", // of a plan
			"transcript.Summary.%s is not stored: it needs a column, which columns in store/compactionrow.go lists", name)
	}
}
