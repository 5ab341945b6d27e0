package store_test

import (
	"reflect"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
)

func TestModels(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	models := func() map[string]llm.Facts {
		t.Helper()
		known := check.Must(s.Models().List(t.Context()))(t)
		return known
	}
	keep := func(name string, f llm.Facts) {
		t.Helper()
		check.NoError(t, s.Models().Keep(t.Context(), name, f))
	}
	age := func(by time.Duration) {
		t.Helper()
		check.Must(s.Writing().Exec("UPDATE models SET updated_at = updated_at - ?", by.Milliseconds()))(t)
	}
	learnt := llm.Facts{Window: 4096, Factor: 1.4, Scale: 150, RefusesTools: true, RefusesImages: true}
	t.Run("stored facts are loaded", func(t *testing.T) {
		keep("m@here", llm.Facts{Window: 8192, Factor: 1.1, Scale: 100})
		keep("m@here", learnt)
		keep("m@there", llm.Facts{RefusesTools: true})
		want := map[string]llm.Facts{"m@here": learnt, "m@there": {Factor: 1, Scale: 100, RefusesTools: true}}
		if got := models(); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
	t.Run("limits and refusals expire after a week, even if the factor was written later", func(t *testing.T) {
		age(4 * 24 * time.Hour)
		learnt.Factor = 1.5
		keep("m@here", learnt)
		check.Equal(t, "after four days", models()["m@here"], learnt)
		age(4 * 24 * time.Hour)
		check.Equal(t, "after eight days", models()["m@here"], (llm.Facts{Factor: 1.5, Scale: 150}))
		age(-365 * 24 * time.Hour) // they were learned while the clock was wrong
		check.Equal(t, "of next year", models()["m@here"], (llm.Facts{Factor: 1.5, Scale: 150}))
	})
	t.Run("facts learned again are kept for another week", func(t *testing.T) {
		keep("m@here", learnt)
		check.Equal(t, "answer", models()["m@here"], learnt)
	})
}
