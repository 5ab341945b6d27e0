// Commands beside a running bot: what they show and change goes through its API, because it knows its model, prices and settings, and
// is the only one that writes.

package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"syscall"
	"time"

	"cairn/config"
	"cairn/connector/terminal"
	"cairn/store"
	"cairn/store/postgres"
	"cairn/web"
)

// otherBot is a running bot, as commands use it.
type otherBot struct {
	*remoteBot
	within time.Duration // how long an answer may take; 0: no limit
}

// answerWithin is how long the bot may take for an answer. It gives up itself after half a minute.
const answerWithin = 40 * time.Second

// findRunning returns the bot that runs on the database of the settings; nil: none answers.
func (a *app) findRunning(ctx context.Context) (*otherBot, error) { return a.findBeside(ctx, false) }

// findToChange is findRunning for a change of what is stored. It takes no bot at an address of this machine for the one of a database that is
// not here: it may be that of another folder, with the same address.
func (a *app) findToChange(ctx context.Context) (*otherBot, error) { return a.findBeside(ctx, true) }

func (a *app) findBeside(ctx context.Context, changes bool) (*otherBot, error) {
	bot, err := atSocket(ctx, a.settings.DataDir)
	if bot == nil && err == nil && a.settings.Web.Listen != "" && a.mayRunElsewhere(changes) {
		bot, err = a.atAddress(ctx)
	}
	if bot == nil || err != nil {
		return nil, err
	}
	return &otherBot{bot, cmp.Or(a.answerWithin, answerWithin)}, nil
}

// mayRunElsewhere reports whether a bot that has no socket in the data folder may run on the database: it uses the folder, or the
// database is on a server, or not here. A folder that --data names wrongly is not taken for that.
func (a *app) mayRunElsewhere(changes bool) bool {
	o, err := storeOptions(&a.settings)
	if err != nil {
		return false // the command says so
	}
	_, err = os.Stat(store.File(o.Dir))
	missing := err != nil
	notHere := missing && a.flags.data == "" && !(changes && isHere(a.settings.Web.Listen))
	return o.Postgres != "" || store.InUse(o.Dir) || notHere
}

// isHere reports whether an address is one of this machine, by its words.
func isHere(address string) bool {
	host, _, _ := net.SplitHostPort(reachable(address))
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// atAddress returns the bot at the address of [web], unless it works on another database.
func (a *app) atAddress(ctx context.Context) (*remoteBot, error) {
	bot, err := listening(ctx, &a.settings)
	if bot == nil || err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	text, err := bot.api()(limited, http.MethodGet, "/api/bot", nil, nil)
	var is web.Bot
	if err != nil || json.Unmarshal(text, &is) != nil {
		return nil, ctx.Err() // another program, or a bot of another version, whose database is not known
	}
	if ours := databaseMark(&a.settings); ours != "" && is.Database != ours {
		return nil, nil
	}
	return bot, nil
}

// databaseMark returns a text that differs for different databases; "": there is none yet.
func databaseMark(s *config.Settings) string {
	o, err := storeOptions(s)
	if err != nil {
		return ""
	}
	name := ""
	if o.Postgres != "" {
		address, err := postgres.Parse(o.Postgres)
		if err != nil {
			return ""
		}
		name = address.String() + "\x00" + o.Schema // without the password
	} else {
		info, err := os.Stat(store.File(o.Dir))
		if err != nil {
			return ""
		}
		file, known := info.Sys().(*syscall.Stat_t)
		if !known {
			return ""
		}
		name = fmt.Sprintf("%d/%d", file.Dev, file.Ino)
	}
	sum := sha256.Sum256([]byte("cairn database\x00" + name))
	return hex.EncodeToString(sum[:8])
}

// findReadable is findRunning for a command that can read from the database instead: beside a bot of another user, or with a wrong token.
func (a *app) findReadable(ctx context.Context) (*otherBot, error) {
	bot, err := a.findRunning(ctx)
	if _, token := errors.AsType[usageError](err); token || errors.Is(err, fs.ErrPermission) {
		a.warned.Do(func() {
			fmt.Fprintln(a.err, wrapped(a.err, fmt.Sprintf("cairn: %v; this is what the database has, with the settings of this shell", err)))
		})
		return nil, nil
	}
	return bot, err
}

// reading returns what there reads from the running bot, or, if none runs, what here reads from the database.
func reading[T any](ctx context.Context, a *app, there func(*otherBot) (T, error), here func() (T, error)) (v T, err error) {
	bot, err := a.findReadable(ctx)
	switch {
	case err != nil:
		return v, err
	case bot != nil:
		return there(bot)
	}
	return here()
}

// call makes a call, and decodes the answer into a T.
func call[T any](ctx context.Context, bot *otherBot, method, path string, query url.Values, body any) (answer T, err error) {
	limited := ctx
	if bot.within > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, bot.within)
		defer cancel()
	}
	text, err := bot.api()(limited, method, path, query, body)
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil {
		return answer, bot.inWords(ctx, err)
	}
	return answer, nil
}

// fetch is call for what only reads.
func fetch[T any](ctx context.Context, bot *otherBot, path string, query url.Values) (T, error) {
	return call[T](ctx, bot, http.MethodGet, path, query, nil)
}

// errNoAnswer is returned when the bot has not answered: a change may have been made or not.
var errNoAnswer = errors.New("the bot gave no answer")

// inWords returns an error of a call for the person at the shell.
func (bot *otherBot) inWords(ctx context.Context, err error) error {
	problem, refused := errors.AsType[*web.Problem](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case web.OtherVersion(err):
		return fmt.Errorf("the bot at %s is of another version than this command: restart it, or use its version", bot.at)
	case refused && problem.Status == http.StatusUnauthorized:
		return usage(fmt.Errorf("the bot at %s rejects the token: set CAIRN_WEB_TOKEN, or token under [web]", bot.at))
	case refused && problem.Status == http.StatusNotFound:
		return fmt.Errorf("%w: %s", store.ErrNotFound, problem.Detail)
	case refused && problem.Status >= http.StatusInternalServerError:
		return fmt.Errorf("the bot at %s: %w", bot.at, err)
	case refused:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w at %s within %v: is it stopped, or very busy?", errNoAnswer, bot.at, bot.within)
	}
	return fmt.Errorf("%w at %s: it stopped, or was killed (%w)", errNoAnswer, bot.at, err)
}

// conversationAt returns the path of a conversation in the API, and of a part of it.
func conversationAt(name, part string) string {
	return "/api/conversations/" + url.PathEscape(name) + part
}

// listedPlace is a conversation as the API lists it.
type listedPlace struct {
	Channel string    `json:"channel"`
	Last    time.Time `json:"last"` // zero: it has no messages
}

func (bot *otherBot) places(ctx context.Context, limit int) (names, used []string, err error) {
	list, err := fetch[struct {
		Conversations []listedPlace `json:"conversations"`
	}](ctx, bot, "/api/conversations", url.Values{"limit": {fmt.Sprint(limit)}})
	for _, p := range list.Conversations {
		names = append(names, p.Channel)
		if !p.Last.IsZero() {
			used = append(used, p.Channel)
		}
	}
	return names, used, err
}

// maxPlaces is how many conversations one page of the API lists.
const maxPlaces = 200

// find returns the full name of a conversation, as the function find does.
func (bot *otherBot) find(ctx context.Context, name string) (string, error) {
	if name != "" {
		return conversationName(name)
	}
	_, used, err := bot.places(ctx, maxPlaces)
	switch {
	case err != nil:
		return "", err
	case len(used) == 1:
		return used[0], nil
	case len(used) > 1 && len(used) < maxPlaces && !slices.Contains(used, terminal.Name+":"+defaultChannel):
		return "", fmt.Errorf("which channel? name one with --channel: %s", listNames(used))
	}
	return conversationName(defaultChannel)
}

// notFound adds to an error about a conversation which there are.
func (bot *otherBot) notFound(ctx context.Context, err error, name string) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	known, _, failed := bot.places(ctx, maxNames)
	if failed != nil {
		return failed
	}
	return fmt.Errorf("%s: %w: %s", name, store.ErrNotFound, listNames(known))
}

// aboutConversation reads a part of a conversation.
func aboutConversation[T any](ctx context.Context, bot *otherBot, full, part, typed string) (T, error) {
	answer, err := fetch[T](ctx, bot, conversationAt(full, part), nil)
	if err != nil {
		err = bot.notFound(ctx, err, "channel "+cmp.Or(typed, defaultChannel))
	}
	return answer, err
}
