package channel

import (
	"context"
	"errors"
	"slices"
	"strings"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/chat"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
)

// Kept is what the bot keeps about a person, and shows them in a place of their own.
type Kept struct {
	Memories []Memory        // that they said first, or that are about them, in conversations that they may read: one page, newest first
	Total    int             // how many there are on all pages
	Unasked  bool            // the platform did not say which conversations they may read, so memories may be left out
	Out      bool            // they have opted out of memories
	Holding  privacy.Holding // what /forget me everywhere would delete
	Heard    string          // a conversation where the bot listens to them, for commands about all conversations; "": none is known
}

// KeptAbout returns a page of what the bot keeps about a person; with a limit of 0, without memories. own is their direct message with the
// bot; of other conversations than that and its threads, the platform is asked at this moment whether they may read them.
func KeptAbout(ctx context.Context, h *Hub, own string, who access.Person, limit, offset int) (k Kept, err error) {
	connector := connectorOf(own)
	person := store.Person{Connector: connector, ID: who.ID, Name: who.Name}
	in, holdings, err := privacy.In(h.o.Store).Everywhere(ctx, person)
	if err != nil {
		return k, err
	}
	k.Holding = holdings.Total()
	rules := h.access.Rules()
	if chat.ParsePlace(own).Direct() && rules.Hears(own, who.ID, false) {
		k.Heard = own
	}
	k.Out, err = privacy.In(h.o.Store).OptedOut(ctx, person)
	if err != nil || limit == 0 {
		return k, err
	}
	isOwn := func(name string) bool {
		return name == own || strings.HasPrefix(name, own+"/") && chat.ParsePlace(own).Direct()
	}
	var names []string
	for _, c := range in {
		if !isOwn(c.Name()) && rules.Hears(c.Name(), who.ID, false) {
			names = append(names, c.Name())
		}
	}
	readable, failed := MayRead(ctx, h, connector, who.ID, names)
	k.Unasked = failed != nil
	if k.Heard == "" && len(readable) > 0 {
		k.Heard = readable[0]
	}
	in = slices.DeleteFunc(in, func(c *store.Conversation) bool { return !isOwn(c.Name()) && !slices.Contains(readable, c.Name()) })
	k.Memories, k.Total, err = memory.Concerning(ctx, h.o.Store, in, who.ID, limit, offset)
	return k, err
}

// MayRead returns those conversations of a connector that a person may read now. An error says that some are left out because the platform
// did not answer.
func MayRead(ctx context.Context, h *Hub, connector, person string, names []string) ([]string, error) {
	reader, knows := h.connectors[connector].(Reader)
	if !knows || len(names) == 0 {
		return nil, nil
	}
	asking, cancel := context.WithTimeout(ctx, readersTime)
	defer cancel()
	readable, err := reader.Readable(asking, person, names)
	if err != nil && !errors.Is(err, context.Canceled) {
		h.o.Log.Warn("readers_unknown", "connector", connector, "error", err)
	}
	return readable, err
}

// AddShown notes, before it happens, that a person sees memories in a place of their own, some of them as forgotten. current is false if
// they must not see them any more. After it has happened, KeepShown notes that they see nothing else.
func AddShown(ctx context.Context, h *Hub, connector, person string, memories, forgotten []int64) (current bool, err error) {
	if len(memories)+len(forgotten) == 0 {
		return true, nil
	}
	return privacy.In(h.o.Store).AddShown(ctx, store.Person{Connector: connector, ID: person}, memories, forgotten)
}

// KeepShown notes that a person sees these memories, and no others that were noted.
func KeepShown(ctx context.Context, h *Hub, connector, person string, memories []int64) error {
	return privacy.In(h.o.Store).KeepShown(ctx, store.Person{Connector: connector, ID: person}, memories)
}

// Outdated returns the people of a connector who may see what was deleted, by what AddShown noted: a Forgetter removes it.
func Outdated(ctx context.Context, h *Hub, connector string) (people []string, err error) {
	return privacy.In(h.o.Store).Outdated(ctx, connector)
}

// SettingsOf returns how a conversation is compacted; nothing if nothing is stored of it.
func SettingsOf(ctx context.Context, h *Hub, conversation string) ([]Setting, error) {
	all, _, err := h.Operator().Settings(ctx, conversation)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return all, err
}

// MayRun reports whether a person may run a command in a conversation where the bot listens to them, whatever its arguments.
func MayRun(h *Hub, conversation string, who access.Person, name string) bool {
	c, err := command.Find(name)
	return err == nil && command.MayRun(h.access.Rules(), conversation, who, c)
}

// Hears reports whether the bot listens to a person in a conversation.
func Hears(h *Hub, conversation, person string) bool {
	return h.access.Rules().Hears(conversation, person, false)
}
