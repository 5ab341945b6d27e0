package main

import (
	"fmt"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

// TestVoiceOfARunningBot: a server transcribes voice of both platforms, which is found by its words; requests are counted.
func TestVoiceOfARunningBot(t *testing.T) {
	voice := llmtest.ServeTranscription(t)
	p := newPlatforms(t)
	f := p.folder("", append(modelAt(llmtest.Serve(t, saying("Heard."))), "VOICE_KEY=sk-voice")...)
	f.write("config.local.toml", fmt.Sprintf("[transcription]\nbase_url = %q\nmodel = %q\napi_key = \"env:VOICE_KEY\"\n", voice.URL, voice.Model))
	r := f.start("run")
	p.open(r)
	direct := p.discord.Direct(p.ann.ID).ID
	p.discord.Post(direct, p.ann.ID, discordtest.Post{Voice: 34, Files: []discordtest.File{
		{Name: "voice-message.ogg", ContentType: "audio/ogg", Data: llmtest.Recording("the zeppelin leaves at nine")},
	}})
	check.Require(t, check.Soon(func() bool { return len(p.discord.Sent(direct)) == 1 }), "no answer on Discord")
	dm := p.slack.DM(p.ben)
	ts := p.slack.Say(slacktest.Post{Channel: dm, User: p.ben, Files: []slacktest.File{
		{Name: "audio_message.ogg", Mimetype: "audio/ogg", Content: llmtest.Recording("the balloon leaves at ten"), Seconds: 5},
	}})
	p.slack.Transcribe(dm, ts, "") // Slack cannot
	check.Require(t, check.Soon(func() bool { return len(voice.Accepted()) == 2 }), "Slack's recording is not transcribed")
	check.Equal(t, "a request", voice.Accepted()[0], llmtest.Transcribed{Name: "voice.ogg", Key: "Bearer sk-voice", Said: "the zeppelin leaves at nine"})
	check.Require(t, check.Soon(func() bool { return f.count("SELECT count(*) FROM messages WHERE role = 'assistant'") == 2 }), "no answer on Slack")
	counted := check.Soon(func() bool {
		return f.count("SELECT coalesce(sum(requests), 0) FROM usage WHERE model = 'test-transcribe'") == 2
	})
	check.That(t, counted, "the requests are not counted: %d\n%s", f.count("SELECT coalesce(sum(requests), 0) FROM usage WHERE model = 'test-transcribe'"), r.errs)
	r.stop()
	check.Contains(t, "found", f.must("", "recall", "--channel", "discord:@me/"+direct, "zeppelin"), "the zeppelin leaves at nine")
	check.Contains(t, "usage", f.must("", "usage", "--by", "model"), voice.Model)
	for _, said := range []string{r.errs.String(), f.must("", "usage")} {
		check.Lacks(t, "what is shown", said, "sk-voice")
	}
	out := f.run("", "doctor").out
	check.Contains(t, "cairn doctor", out, "ok     files     PDFs are ", "ok     files     transcription by "+voice.Model+" at "+voice.URL+": ", "voice is sent there")
	voice.Fail("401*")
	f.doctorSays(exitFailed, "WRONG  files     transcription by "+voice.Model+" at "+voice.URL+": ")
}
