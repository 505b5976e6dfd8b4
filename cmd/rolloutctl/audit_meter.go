package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// counter counts what is read, and stops reading when stop returns an error.
type counter struct {
	from  io.Reader
	stop  func() error
	bytes atomic.Int64
}

// Read reads.
func (c *counter) Read(p []byte) (int, error) {
	if err := c.stop(); err != nil {
		return 0, err
	}
	n, err := c.from.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// of says how much was read, of so many bytes in all; 0: nobody knows.
func (c *counter) of(size int64) string {
	const mega = 1_000_000
	read := float64(c.bytes.Load()) / mega
	if size == 0 {
		return fmt.Sprintf("%.1f MB", read)
	}
	return fmt.Sprintf("%.1f of %.1f MB", read, float64(size)/mega)
}

// meter says on a terminal how far something is, once it takes longer than a
// second, until what it returns is called.
func (s *session) meter(how func() string) (stop func()) {
	const patience, every = time.Second, 200 * time.Millisecond
	if !s.errors.terminal || s.Quiet || s.json() {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		show := s.progress()
		defer show.end()
		for wait := patience; ; wait = every {
			select {
			case <-end:
				return
			case <-time.After(wait):
				show.draw(how())
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}
