package terminal

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"cairn/channel/channeltest"
	"cairn/internal/check"
)

func TestProtocolApproval(t *testing.T) {
	read, write := io.Pipe()
	s := open(t, Options{JSON: true, In: read}, channeltest.Add)
	ended := make(chan error, 1)
	go func() { ended <- s.connector.Run(t.Context(), s.hub, s.log) }()
	check.Must(io.WriteString(write, `{"text":"please add","id":"1"}`+"\n"))(t)
	s.out.wait(t, `"buttons":[{"label":"Allow","line":"/allow `)
	_, line, _ := strings.Cut(s.out.String(), `"line":"`)
	line, _, _ = strings.Cut(line, `"`)
	check.Must(io.WriteString(write, fmt.Sprintf(`{"text":%q,"id":"2"}`, line)+"\n"))(t)
	s.out.wait(t, "The tool says: five")
	check.Must(io.WriteString(write, `{"text":"please add","id":"3"}`+"\n"))(t)
	s.out.wait(t, `"id":"3","seq":`)
	if !check.Soon(func() bool { return len(s.hub.Operator().Approvals("terminal:general")) == 1 }) {
		t.Fatal("no second question")
	}
	check.NoError(t, write.Close()) // no one can answer any more
	select {
	case err := <-ended:
		check.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("the run waits for an answer")
	}
	check.Contains(t, "output", s.out.String(), "there is no one to ask here")
}
