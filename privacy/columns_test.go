package privacy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cairn/privacy"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// unlisted returns what is wrong with the two lists of columns.
func unlisted(is map[string][]string) (wrong []string) {
	for table, columns := range is {
		others := strings.Fields(privacy.OtherColumns[table])
		for _, column := range columns {
			_, text := privacy.TextColumns[table][column]
			if text == slices.Contains(others, column) {
				wrong = append(wrong, table+"."+column+" is not in exactly one of TextColumns and OtherColumns")
			}
		}
	}
	for _, table := range slices.Concat(slices.Collect(maps.Keys(privacy.TextColumns)), slices.Collect(maps.Keys(privacy.OtherColumns))) {
		listed := slices.Concat(slices.Collect(maps.Keys(privacy.TextColumns[table])), strings.Fields(privacy.OtherColumns[table]))
		for _, column := range listed {
			if !slices.Contains(is[table], column) {
				wrong = append(wrong, table+"."+column+" is listed and does not exist")
			}
		}
	}
	return wrong
}

// A column that may hold people's words must have a fate.
func TestEachColumnIsInOneList(t *testing.T) {
	is := storetest.Columns(t, newTalk(t).Store())
	check.EqualAll(t, "columns", unlisted(is), nil)
	is["pins"] = append(is["pins"], "reason")
	is["models"] = slices.DeleteFunc(is["models"], func(column string) bool { return column == "wire" })
	check.EqualAll(t, "a new column, and one that is gone", slices.Sorted(slices.Values(slices.Compact(unlisted(is)))),
		[]string{"models.wire is listed and does not exist", "pins.reason is not in exactly one of TextColumns and OtherColumns"})
}
