package clean

import (
	"strings"
	"testing"

	"cairn/testkit/check"
)

// leftovers are what models of 2025 and 2026 leave in their text, and what remains of it.
var leftovers = map[string]struct{ text, calls, want string }{
	"a call in a thought that is not closed":    {"<think>\nI look.\n<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}\n</tool_call>", `lookup {"word": "tea"}`, ""},
	"a call of GLM in a thought":                {"<think>I look.\n<tool_call>lookup\n<arg_key>word</arg_key>\n<arg_value>tea</arg_value>\n</tool_call>", `lookup {"word":"tea"}`, ""},
	"a call of Kimi in a thought":               {"<think>I look.<|tool_calls_section_begin|><|tool_call_begin|>functions.lookup:0<|tool_call_argument_begin|>{\"word\":\"tea\"}<|tool_call_end|><|tool_calls_section_end|>", `lookup {"word":"tea"}`, ""},
	"a call that a thought ends behind":         {"<think>\nI look.\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n</think>\n", `now {}`, ""},
	"the last of two calls in a thought":        {"<think>\nI would write\n<tool_call>\nhm\n\nNo, this:\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>", `now {}`, ""},
	"a call in a thought, and an answer":        {"<think>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n</think>\nHello", "", "Hello"},
	"a call of no tool in a thought":            {"<think>\n<tool_call>\n{\"name\": \"search\", \"arguments\": {}}\n</tool_call>", "", ""},
	"a result of DeepSeek made up":              {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>lookup<｜tool▁sep｜>{\"word\": \"tea\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>hot<｜tool▁output▁end｜><｜tool▁outputs▁end｜>Tea is hot.", `lookup {"word": "tea"}`, ""},
	"a result of Mistral made up":               {"[TOOL_CALLS]lookup[ARGS]{\"word\": \"tea\"}[TOOL_RESULTS]{\"content\": \"hot\"}[/TOOL_RESULTS]Tea is hot.", `lookup {"word": "tea"}`, ""},
	"a result of Mistral behind text":           {"Hello.[TOOL_RESULTS]{\"content\": 5}[/TOOL_RESULTS]", "", "Hello."},
	"a result of Gemma 3 made up":               {"```tool_code\nlookup(word=\"tea\")\n```\n```tool_output\nhot\n```\nTea is hot.", `lookup {"word":"tea"}`, ""},
	"a call of LFM, and a remark":               {"<|tool_call_start|>[lookup(word=\"tea\")]<|tool_call_end|>I look it up.<|im_end|>", `lookup {"word":"tea"}`, ""},
	"a block for calls behind text":             {"I look it up.\n\n```tool_code\nlookup(word=\"tea\")\n```", `lookup {"word":"tea"}`, "I look it up."},
	"a block of JSON for calls behind text":     {"I look.\n```tool_call\n{\"name\": \"now\", \"arguments\": {}}\n```\n", `now {}`, "I look."},
	"a block for calls, with text":              {"Like this:\n```tool_code\nnow()\n```\nThat is all.", "", "Like this:\n```tool_code\nnow()\n```\nThat is all."},
	"gpt-oss with the role before the channel":  {"assistantanalysisThey greet.assistantfinalHello", "", "Hello"},
	"gpt-oss calls with the role first":         {"assistantcommentary to=lookup json{\"word\":\"tea\"}", `lookup {"word":"tea"}`, ""},
	"a thought whose end has a backslash":       {"<think>\nThey greet.\n<\\think>\n\nHello", "", "Hello"},
	"a thought whose end has its slash behind":  {"<think>\nThey greet.\n<think/>\n\nHello", "", "Hello"},
	"a thought whose end has a space":           {"<think>\nThey greet.\n</ think>\n\nHello", "", "Hello"},
	"a thought with a misspelt and a right end": {"<think>\nThe end is </ think> here.\n</think>\n\nHello", "", "Hello"},
	"boxes of Qwen":                             {"The <|object_ref_start|>cup<|object_ref_end|><|box_start|>(1,2)<|box_end|> is red.", "", "The cup(1,2) is red."},
	"tokens that Gemma never uses":              {"Hello.<unused12><unused13>", "", "Hello."},
	"a tool's name in an element without end":   {"<lookup> is the tag you mean.", "", "<lookup> is the tag you mean."},
	"a header with the number alone":            {"[#12] Robin: Hello", "", "Hello"},
	"a header with the time alone":              {"[14:05] Robin: Hello", "", "Hello"},
	"a header without a number":                 {"[2026-11-28 14:05 Robin] Hello", "", "Hello"},
	"a header in bold":                          {"**[#4 2026-11-28 14:05 Robin]**\nHello", "", "Hello"},
	"a header as code":                          {"`[#4 2026-11-28 14:05 Robin]` Hello", "", "Hello"},
	"a label with what the bot is":              {"Robin (AI): Hello", "", "Hello"},
	"a label with a badge":                      {"**Robin [BOT]:** Hello", "", "Hello"},
	"a label in Japanese":                       {"アシスタント：こんにちは。", "", "こんにちは。"},
	"a label in Chinese":                        {"助手：你好。", "", "你好。"},
	"a label in Russian":                        {"Ассистент: Привет.", "", "Привет."},
	"a label in French":                         {"Assistant : Bonjour.", "", "Bonjour."},
	"a header with an answer, without a number": {"[2026-11-28 14:05 Robin, replying to #3] Hello", "", "Hello"},
	"a header of Cairn before another name":     {"[14:05] Cairn: Hello", "", "Hello"},
	"a badge behind a name in bold":             {"**Robin** (bot): Hello", "", "Hello"},
	"a result of Gemma 4 made up":               {"<|tool_call>call:now{}<tool_call|><|tool_response>response:now{value:5}<tool_response|>It is five.", "now {}", ""},
	"gpt-oss with one mark left":                {"analysisI look.assistantcommentary to=functions.lookup <|constrain|>json{\"word\":\"tea\"}", `lookup {"word":"tea"}`, ""},
	"a summary made up":                         {"Hello.\n\n[Compaction Summary] messages #1 to #9, 3 to 4 May 2026\n## Goals\n- tea", "", "Hello."},
	"a message made up behind a list":           {"- tea\n- milk\n\n[#5 2026-11-28 14:06 Ada] Thanks!", "", "- tea\n- milk"},
	"a message that a person has not written":   {"Hello.\n[#5 2026-11-28 14:06 Ada] Thanks!\n[#6 2026-11-28 14:06 Robin] Bye.", "", "Hello."},
	"citations of Command R":                    {"The <co: 0>Emperor Penguin</co: 0> is the <co: 0,1>tallest</co: 0,1>.", "", "The Emperor Penguin is the tallest."},
	"citations of Command A":                    {"<co>Emperor penguins</co: 0:[0]> live in <co>Antarctica</co: 0:[1,2],1:[0]>.", "", "Emperor penguins live in Antarctica."},
	"citations without a space":                 {"It is <co:3>Paris</co:3>.", "", "It is Paris."},
	"a citation in bold":                        {"It is **<co: 0>Paris</co: 0>**.", "", "It is **Paris**."},
	"a citation that is cut off":                {"It is <co: 0>Paris", "", "It is Paris"},
	"a citation behind a thought":               {"<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|><co>Paris</co: 0:[1]>.<|END_RESPONSE|>", "", "Paris."},
}

func TestLeftoversOfModelFamiliesAreRemoved(t *testing.T) {
	for name, c := range leftovers {
		for _, size := range []int{1, 3, len(c.text)} {
			f := newFilter()
			f.Name = "robin"
			for text := c.text; text != ""; {
				n := min(size, len(text))
				f.Next(text[:n])
				text = text[n:]
			}
			check.Equal(t, name, strings.TrimSpace(f.End()), c.want)
			check.Equal(t, name+": calls", written(f.Calls), c.calls)
		}
	}
}
