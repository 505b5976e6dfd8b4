package mariadbtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// errExited says that the server ended by itself.
var errExited = errors.New("it exited")

// process is a started command; exited is closed when it has ended.
type process struct {
	command *exec.Cmd
	exited  chan struct{}
}

// launch starts the command with its output added to the log file.
func launch(command *exec.Cmd, logFile string) (*process, error) {
	log, err := os.OpenFile(logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the server's log: %w", err)
	}
	defer func() { _ = log.Close() }() // the process holds its own
	command.Stdout, command.Stderr = log, log
	dieWithParent(command)

	p := &process{command: command, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		defer close(p.exited)
		// The kernel ends the child when the thread that started it ends, so
		// that thread waits for it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // how it ended stands in its log
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Path, err)
	}
	return p, nil
}

// stop asks the process to end, and kills it if it does not within the limit.
func (p *process) stop(within time.Duration) error {
	// It may have ended by itself: the wait below finds that out.
	_ = p.command.Process.Signal(syscall.SIGTERM)
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-p.exited:
		return nil
	case <-late.C:
		p.kill()
		return fmt.Errorf("it was still running after %v and was killed", within)
	}
}

// kill ends the process at once and waits until it is gone.
func (p *process) kill() {
	_ = p.command.Process.Kill() // fails only when it has ended already
	<-p.exited
}
