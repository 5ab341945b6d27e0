// Columns: how the values of rows are read.

package store

import (
	"database/sql"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// scanner reads a column.
type scanner func(column any) error

func (read scanner) Scan(column any) error { return read(column) }

// utcInto reads a time for programs; 0 or NULL leaves it alone.
func utcInto(to *time.Time) sql.Scanner {
	return scanner(func(column any) error {
		if millis, _ := column.(int64); millis != 0 {
			*to = utcTime(millis)
		}
		return nil
	})
}

// localInto reads a time in the bot's time zone, see localTime.
func localInto(to *time.Time) sql.Scanner {
	return scanner(func(column any) error {
		millis, _ := column.(int64) // NULL is like 0
		*to = localTime(millis)
		return nil
	})
}

// numbersInto reads a list of numbers that string_agg joined with commas.
func numbersInto(to *[]int64) sql.Scanner {
	return scanner(func(column any) error {
		text, _ := column.(string) // NULL: none
		*to = []int64{}
		for number := range strings.SplitSeq(text, ",") {
			if n, err := strconv.ParseInt(number, 10, 64); err == nil {
				*to = append(*to, n)
			}
		}
		return nil
	})
}

// jsonInto reads a value from a column of JSON; empty text leaves it alone.
func jsonInto(to any) sql.Scanner {
	return scanner(func(column any) error {
		text, _ := column.(string)
		if text == "" {
			return nil
		}
		return json.Unmarshal([]byte(text), to)
	})
}
