package web

import (
	"context"
	"sync"
	"time"
)

// databasesKept is how long it is remembered where a rollout is: it can move,
// with another plan, only before it begins.
const databasesKept = 10 * time.Second

// databases remembers on which database each rollout is, so that not every event
// asks for it.
type databases struct {
	mu sync.Mutex
	at time.Time // since when
	by map[string]string
}

func (d *databases) of(ctx context.Context, s *server, name string) (string, error) {
	if database := d.known(name, time.Now()); database != "" {
		return database, nil
	}
	database, err := s.databaseOf(ctx, name)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.by[name] = database
	return database, nil
}

func (d *databases) known(name string, now time.Time) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.at) > databasesKept {
		d.at, d.by = now, map[string]string{}
	}
	return d.by[name]
}
