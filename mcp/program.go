package mcp

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	endTimeout   = 2 * time.Second  // for a program to end by itself, and again after SIGTERM
	writeTimeout = 10 * time.Second // for a program to read what it is sent
	maxUnheard   = 1 << 20          // bytes that a program may say while it does not read
)

// program is a server that was started as a program. What it is sent and what it says goes through
// Write and Read. One that does not read its input is given up: otherwise everything that is
// sent later would wait for it, also the end of the connection.
type program struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.Reader
	writing atomic.Bool  // a Write waits for the program
	unheard atomic.Int64 // bytes that were read since then
	once    sync.Once    // for Close
}

// startProgram starts a program. No shell reads the command.
func startProgram(command, env []string, errs io.Writer) (*program, error) {
	p := &program{cmd: exec.Command(command[0], command[1:]...)}
	p.cmd.Env, p.cmd.Stderr, p.cmd.WaitDelay = env, errs, endTimeout
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it starts ends with it
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return p, p.cmd.Start()
}

// Write sends to the program, if it reads in time. After a failure each Write fails.
func (p *program) Write(text []byte) (n int, err error) {
	p.unheard.Store(0)
	p.writing.Store(true)
	defer p.writing.Store(false)
	if in, ok := p.in.(*os.File); ok {
		err = in.SetWriteDeadline(time.Now().Add(writeTimeout))
	}
	if err == nil {
		n, err = p.in.Write(text)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errors.New("it does not read what it is sent")
	}
	if err != nil {
		_ = p.in.Close() // what waits for its turn fails at once
	}
	return n, err
}

// Read reads what the program says.
func (p *program) Read(text []byte) (int, error) {
	n, err := p.out.Read(text)
	if p.writing.Load() && p.unheard.Add(int64(n)) > maxUnheard {
		_ = p.in.Close()
		return 0, errors.New("it speaks without an end, and does not read what it is sent")
	}
	return n, err
}

// Close ends the program: it closes its input, and then, if that is not enough, sends signals to it
// and to what it started.
func (p *program) Close() error {
	p.once.Do(func() {
		_ = p.in.Close() // the program may have closed it
		ended := make(chan struct{})
		go func() {
			_ = p.cmd.Wait() // it was told to end, and may say anything about that
			close(ended)
		}()
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			select {
			case <-ended:
			case <-time.After(endTimeout):
				_ = syscall.Kill(-p.cmd.Process.Pid, signal)
			}
		}
		<-ended
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // what it left
	})
	return nil
}
