// The Home tab of a person is published in the background, at most once a second, with what is kept about them at that moment.

package slack

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/sentences"
	"cairn/connector/platform"
)

// publish has the Home tab of a person published, without waiting for it. Of several pages that wait the last one counts.
func (h *home) publish(person string, page homePage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.due == nil {
		h.due = make(map[string]*homePage)
	}
	_, running := h.due[person]
	if running && page.outdated {
		return // the next look at what is outdated will tell
	}
	h.due[person] = &page
	if !running && !h.base.Work.Start(func(ctx context.Context) { h.publishDue(ctx, person) }) {
		delete(h.due, person)
	}
}

// publishDue publishes what is due for a person, with a pause after each page.
func (h *home) publishDue(ctx context.Context, person string) {
	last := "" // the hash of the view that was published here
	for {
		page := h.next(person)
		if page == nil {
			return
		}
		if page.hash != "" {
			page.hash = cmp.Or(last, page.hash)
		}
		last = ""
		h.base.Work.Guard(func() {
			hash, err := h.publishNow(ctx, person, *page)
			last = hash
			h.report(ctx, err)
			if page.outdated && (isPermanent(err) || unknownMethod(err)) { // such as of a person who is gone
				h.only(ctx, person, homeView{})
			}
		})
		_ = platform.Sleep(ctx, h.times.home) // when it ends, so does the next publication
	}
}

// report logs whether a Home tab could be published.
func (h *home) report(ctx context.Context, err error) {
	switch code := codeOf(err); {
	case err == nil:
		if h.failing.End() {
			h.base.Log.Info("publish_home_recovered")
		}
	case ctx.Err() != nil:
	case code == "not_enabled", unknownMethod(err):
		h.off.Store(true)
		h.base.Log.Debug("home_tab_off", "error", err)
	default:
		h.base.Log.Log(ctx, h.failing.Begin(), "publish_home_failed", "effect", "what the Home tab showed before is still there", "error", err)
	}
}

// next returns what is due for a person; nil if nothing is, and then nothing runs for them any more.
func (h *home) next(person string) *homePage {
	h.mu.Lock()
	defer h.mu.Unlock()
	page := h.due[person]
	h.due[person] = nil
	if page == nil {
		delete(h.due, person)
	}
	return page
}

// publishNow publishes a page, and returns the hash of its view. If another process has published one, what is kept may have changed since it
// was read here: then it is read again.
func (h *home) publishNow(ctx context.Context, person string, page homePage) (hash string, err error) {
	for {
		view, err := h.view(ctx, person, page)
		if err != nil {
			return "", err
		}
		current, err := channel.AddShown(ctx, h.base.Hub, Name, person, view.listed(), view.answered())
		if err != nil {
			return "", err
		}
		if !current {
			page.blank = true
			page.notice = nil
			continue
		}
		request := slackgo.PublishViewContextRequest{UserID: person, View: homeTab(view)}
		if page.hash != "" {
			request.Hash = &page.hash
		}
		published, err := h.api.read.PublishViewContext(ctx, request)
		if codeOf(err) == "hash_conflict" && page.hash != "" {
			page.hash = ""
			continue
		}
		if err != nil {
			return "", err
		}
		h.only(ctx, person, view)
		return published.Hash, nil
	}
}

// only notes that a person sees nothing but a view. If it fails, the next view is published without need.
func (h *home) only(ctx context.Context, person string, shown homeView) {
	err := channel.KeepShown(ctx, h.base.Hub, Name, person, slices.Concat(shown.listed(), shown.answered()))
	if err != nil {
		h.base.Log.Debug("note_home_failed", "error", err)
	}
}

// emptyOutdated empties, in the background, the Home tabs that may show what was deleted: since this process started, or before it did.
func (h *home) emptyOutdated() {
	h.looks.Add("", struct{}{}, func([]struct{}) {
		ctx := h.base.Work.Ctx
		if h.base.Work.Wait(ctx) != nil {
			return
		}
		platform.Retry(ctx, platform.Backoff{First: h.times.home, Max: time.Minute}, func() (done bool) {
			people, err := channel.Outdated(ctx, h.base.Hub, Name)
			for _, person := range people {
				h.publish(person, homePage{blank: true, outdated: true})
			}
			return err == nil && len(people) == 0 || h.off.Load()
		})
	})
}

// view reads what a page shows.
func (h *home) view(ctx context.Context, person string, page homePage) (v homeView, err error) {
	v.homePage = page
	who, speaker, err := h.whoIs(ctx, person, page.Direct)
	if err != nil {
		return v, err
	}
	v.speaker = speaker
	v.manages = channel.MayRun(h.base.Hub, h.self.place("", "").String(), who, "settings")
	own := h.self.place(page.Direct, "").String() // without a channel, it is the name of no conversation
	limit := homeMemories
	if page.blank {
		limit = 0
	}
	v.kept, err = channel.KeptAbout(ctx, h.base.Hub, own, who, limit, page.Page*homeMemories)
	if err == nil && len(v.kept.Memories) == 0 && page.Page > 0 && !page.blank { // the last ones are gone
		page.Page = max((v.kept.Total-1)/homeMemories, 0)
		return h.view(ctx, person, page)
	}
	return v, err
}

// whoIs returns a person, and who speaks their language: that of their Slack, or else that of their direct message with the bot.
func (h *home) whoIs(ctx context.Context, person, direct string) (who access.Person, speaker sentences.Speaker, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	u, err := h.api.read.GetUserInfoContext(ctx, person)
	if err != nil {
		return who, speaker, err
	}
	language, _, _ := strings.Cut(u.Locale, "-")
	if !slices.Contains(channel.Languages, language) {
		language = channel.SpokenIn(h.base.Hub, h.self.place(direct, "").String())
	}
	return access.Person{ID: person, Name: displayName(*u), Manager: isAdmin(u)}, sentences.In(language), nil
}
