package chat_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // machines may have none

	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/check"
)

// The clocks go back at 1:00 UTC in Berlin, at 6:00 UTC in New York, and by half an hour at 15:00 UTC of the day before in
// Lord Howe, in the autumn of the southern hemisphere.
func TestTheHourThatExistsTwiceHasItsOffset(t *testing.T) {
	for zone, times := range map[string]map[string]string{
		"Europe/Berlin": {
			"2026-10-24T23:59:59Z": "2026-10-25 01:59", "2026-10-25T00:00:00Z": "2026-10-25 02:00 +02:00",
			"2026-10-25T00:59:59Z": "2026-10-25 02:59 +02:00", "2026-10-25T01:00:00Z": "2026-10-25 02:00 +01:00",
			"2026-10-25T01:59:59Z": "2026-10-25 02:59 +01:00", "2026-10-25T02:00:00Z": "2026-10-25 03:00",
			"2026-03-29T00:59:59Z": "2026-03-29 01:59", "2026-03-29T01:00:00Z": "2026-03-29 03:00", // forward: nothing is twice
		},
		"America/New_York": {
			"2026-11-01T04:59:59Z": "2026-11-01 00:59", "2026-11-01T05:30:00Z": "2026-11-01 01:30 -04:00",
			"2026-11-01T06:30:00Z": "2026-11-01 01:30 -05:00", "2026-11-01T07:00:00Z": "2026-11-01 02:00",
		},
		"Australia/Lord_Howe": {
			"2026-04-04T14:29:59Z": "2026-04-05 01:29", "2026-04-04T14:30:00Z": "2026-04-05 01:30 +11:00",
			"2026-04-04T14:59:59Z": "2026-04-05 01:59 +11:00", "2026-04-04T15:00:00Z": "2026-04-05 01:30 +10:30",
			"2026-04-04T15:29:59Z": "2026-04-05 01:59 +10:30", "2026-04-04T15:30:00Z": "2026-04-05 02:00",
		},
		"UTC":          {"2026-10-25T01:30:00Z": "2026-10-25 01:30"},
		"Asia/Kolkata": {"2026-10-25T01:30:00Z": "2026-10-25 07:00"},
	} {
		location := check.Must(time.LoadLocation(zone))(t)
		for utc, want := range times {
			at := check.Must(time.Parse(time.RFC3339, utc))(t).In(location)
			check.Equal(t, utc+" in "+zone, chat.Time(at), want)
			_, repeated, _ := strings.Cut(want[len(chat.TimeFormat):], " ")
			if repeated == "" {
				want += at.Format(" MST")
			}
			check.Equal(t, utc+" in "+zone+", with the zone", chat.ZonedTime(at), want)
			m := chat.Message{Seq: 7, Role: llm.RoleUser, Author: "Ada", Text: "hello", Time: at}
			check.Equal(t, "header", chat.Header(m), "[#7 "+chat.Time(at)+" Ada] ")
			check.Equal(t, "for people", chat.RecordOf(m).String(), "#7  "+chat.Time(at)+"  Ada: hello")
		}
	}
}

// No two minutes of a year look the same, and the offset is written where the zone has a minute twice, and nowhere else.
func TestNoTwoMinutesLookTheSame(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Africa/Casablanca"} {
		location := check.Must(time.LoadLocation(zone))(t)
		plain := map[string]int{}
		written := map[string]bool{}
		var all []time.Time
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for at := start; at.Before(start.AddDate(1, 0, 0)); at = at.Add(10 * time.Minute) {
			all = append(all, at.In(location))
			plain[at.In(location).Format(chat.TimeFormat)]++
		}
		for _, at := range all {
			twice := plain[at.Format(chat.TimeFormat)] > 1
			check.Equal(t, zone+", "+at.String(), chat.Offset(at) != "", twice)
			written[chat.Time(at)] = true
		}
		check.Equal(t, "different minutes of "+zone, len(written), len(all))
	}
}

func TestLasting(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "< 1 s", 400 * time.Millisecond: "< 1 s", 700 * time.Millisecond: "1s", 80*time.Second + 1: "1m20s",
	} {
		check.Equal(t, d.String(), chat.Lasting(d), want)
	}
}
