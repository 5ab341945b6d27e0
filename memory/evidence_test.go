package memory_test

import (
	"fmt"
	"testing"

	"cairn/chat"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// TestMemoryNeedsEvidence: a model's memory is kept only if a message that it names says something of it. Bob writes the odd
// messages, Ann the even ones.
func TestMemoryNeedsEvidence(t *testing.T) {
	for claim, c := range map[string]struct {
		said     []string
		memory   string
		messages string
		want     string // part of the refusal; "": it is saved
		sources  []int64
	}{
		"other words of it suffice":                  {[]string{"I'm off to Lisbon for good"}, "Bob lives in Lisbon", "[1]", "", []int64{1}},
		"a number does":                              {[]string{"ok, 4711 it is"}, "The code of the gate: 4711", "[1]", "", []int64{1}},
		"another form of a word does":                {[]string{"мы переехали в Бергене"}, "Боб живёт в городе Берген", "[1]", "", []int64{1}},
		"in German too":                              {[]string{"Ich wohne jetzt bei meinen Schwestern in Köln"}, "Bob wohnt bei seiner Schwester", "[1]", "", []int64{1}},
		"in Chinese too":                             {[]string{"我搬到里斯本了"}, "鲍勃住在里斯本", "[1]", "", []int64{1}},
		"in Japanese too":                            {[]string{"リスボンに引っ越しました"}, "ボブはリスボンに住んでいる", "[1]", "", []int64{1}},
		"in Korean too":                              {[]string{"저는 커피를 좋아해요"}, "밥은 커피를 좋아한다", "[1]", "", []int64{1}},
		"nothing of it is refused":                   {[]string{"what a lovely day", "indeed"}, "Bob is allergic to nuts", "[1]", "says nothing of it", nil},
		"nothing of it in Chinese is refused":        {[]string{"今天天气很好啊"}, "鲍勃住在里斯本", "[1]", "says nothing of it", nil},
		"nothing of it in German is refused":         {[]string{"Das ist ja heute ein schönes Wetter hier"}, "Bob wohnt bei seiner Schwester und hat eine Katze", "[1]", "says nothing of it", nil},
		"words of any message do not suffice":        {[]string{"I think that is a good idea"}, "Bob thinks that nuts are dangerous to him", "[1]", "says nothing of it", nil},
		"nor does being addressed":                   {[]string{"hey Ann!", "hi"}, "Ann is allergic to nuts", "[1]", "says nothing of it", nil},
		"sources without it are dropped":             {[]string{"I like tea", "hello", "good tea needs hot water"}, "Bob likes tea", "[1, 2, 3]", "", []int64{1, 3}},
		"what somebody else wrote is not Ann's":      {[]string{"I love parrots", "hello"}, "Ann loves parrots", "[1]", "is by Bob, not by Ann", nil},
		"nor if Ann's own message says nothing":      {[]string{"I love parrots", "hello"}, "Ann loves parrots", "[1, 2]", "is by Bob, not by Ann", nil},
		"what somebody says of Ann is":               {[]string{"Ann loves parrots", "hello"}, "Ann loves parrots", "[1]", "", []int64{1}},
		"what two decide is of the one who wrote it": {[]string{"we sell the caravan", "fine"}, "Ann and Bob sell the caravan", "[1]", "", []int64{1}},
		"an answer is read with its question":        {[]string{"Shall we sell the caravan?", "yes, do that"}, "Ann wants the caravan sold", "[2]", "", []int64{2}},
		"but a question is not its author's answer":  {[]string{"Do you sell the caravan?", "yes"}, "Bob sells the caravan", "[2]", "says nothing of it", nil},
		"another language is believed":               {[]string{"我对坚果过敏"}, "Bob is allergic to nuts", "[1]", "", []int64{1}},
		"one in the same script too":                 {[]string{"je suis allergique aux noix depuis que je suis petite"}, "Bob has had an intolerance since his childhood", "[1]", "", []int64{1}},
		"but not its numbers":                        {[]string{"我的预算是 700 欧元"}, "Bob's budget is 900 EUR", "[1]", "not 900", nil},
		"another amount is refused":                  {[]string{"The rent is 700 EUR"}, "Bob's rent is 900 EUR", "[1]", "not 900", nil},
		"another year is":                            {[]string{"We launch in May 2027"}, "Bob launches in May 2028", "[1]", "a different date", nil},
		"another day is":                             {[]string{"We launch on 9 May 2027"}, "Bob launches on 12 May 2027", "[1]", "a different date", nil},
		"a written-out number is none":               {[]string{"We have three cats in flat 17"}, "Bob has 3 cats", "[1]", "", []int64{1}},
		"a sum is none":                              {[]string{"The rent is 700, the garage 80"}, "Bob pays 780 for rent and garage", "[1]", "", []int64{1}},
		"what is written in another way is none":     {[]string{"The car was 12,500 EUR, at 3pm I had it"}, "Bob's car cost 12500 EUR and came at 15:00", "[1]", "", []int64{1}},
		"a day that was said in other words is none": {[]string{"We launch next friday in room 12"}, "Bob launches on 6 March 2026 in room 12", "[1]", "", []int64{1}},
		"nor is the year of the message":             {[]string{"We launch on 9 May"}, "Bob launches on 9 May 2026", "[1]", "", []int64{1}},
		"where a message has no numbers one is":      {[]string{"The rent is too high"}, "Bob's rent is 900 EUR, which is too high", "[1]", "has not all the numbers", nil},
		"where a message has no dates one is":        {[]string{"The rent is too high"}, "The rent was too high on 9 May", "[1]", "has not all the dates", nil},
		"what a message lists may be counted":        {[]string{"my cats are Tom, Kim and Joe"}, "Bob has 3 cats", "[1]", "", []int64{1}},
		"a year may be counted from the message's":   {[]string{"I moved to Oslo three years ago"}, "Bob moved to Oslo in 2023", "[1]", "", []int64{1}},
		"another one may not":                        {[]string{"I moved to Oslo three years ago"}, "Bob moved to Oslo in 2017", "[1]", "not 2017", nil},
		"a day may be counted from the message's":    {[]string{"last Friday we launched the shop"}, "Bob launched the shop on the Friday before 1 March 2026", "[1]", "", []int64{1}},
		"a name that nobody has is refused":          {[]string{"my boss wants the report"}, "Bob's boss Kevin Marlowe wants the report", "[1]", "no message mentions", nil},
		"one of another message is not":              {[]string{"my boss wants the report", "is it Kevin?", "why?", "so", "hm", "well", "yes", "my boss wants the report"}, "Bob's boss Kevin wants the report", "[1]", "", []int64{1}},
	} {
		for _, by := range []string{"worker", "assistant"} {
			t.Run(claim+", by the "+by, func(t *testing.T) {
				conv := newTalk(t)
				for i, text := range c.said {
					deliver(t, conv, said(i+1, text))
				}
				if len(c.said) == 1 {
					deliver(t, conv, said(2, "hm"))
				}
				j := worker(t, conv, 1, int64(max(len(c.said), 2)))
				tools := j.Tools(9)
				if by == "assistant" {
					tools = toolsAt(conv, 1)
				}
				_, err := storetest.Call(tools, "memory_save", fmt.Sprintf(`{"memories": [{"content": %q, "kind": "fact", "messages": %s}]}`, c.memory, c.messages))
				if c.want != "" {
					check.ErrorContains(t, "refusal", err, c.want)
					return
				}
				check.NoError(t, err)
				if by == "worker" {
					finish(t, j)
				}
				wantContents(t, conv, c.memory)
				check.EqualAll(t, "sources", details(t, conv.Store(), 1).Sources, c.sources)
			})
		}
	}
}

func TestEvidenceBesideText(t *testing.T) {
	attached := said(1, "look")
	reply := said(4, "agreed!")
	attached.Attachments = []chat.Attachment{{Kind: "image", Name: "red_caravan.jpg", Caption: "a caravan under palms"}}
	reply.ReplyTo = "m1"
	t.Run("in the name or the caption of a file", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, attached)
		save(t, toolsAt(c, 1), "Bob owns a red caravan", 1, "")
		save(t, toolsAt(c, 1), "Bob was at a place with palms", 1, "")
	})
	t.Run("in what a message replies to", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, "let's sell the caravan"), said(2, "nice weather"), said(3, "it is"), reply)
		save(t, toolsAt(c, 1), "Ann wants the caravan sold", 4, "")
	})
	t.Run("people and extracts need none", func(t *testing.T) {
		c := imported(t, 3)
		keep(t, c, "Ann", "Ann is allergic to nuts", 1)
		wantContents(t, c, "Ann is allergic to nuts")
	})
	t.Run("about somebody whom the message does not name, it is about who wrote it", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, "we sell the caravan"), said(2, "hm"))
		save(t, toolsAt(c, 1), "Bob and Ann sell the caravan", 1, `, "about": "Ann"`)
		check.Equal(t, "about", details(t, c.Store(), 1).About, "Bob")
	})
}
