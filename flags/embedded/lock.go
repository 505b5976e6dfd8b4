package embedded

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// acquire locks a file of its own, since the flag file is another file after
// each write. The kernel drops the lock with the process, however that ends.
func acquire(path string) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errors.New("another process holds it; one rolloutd at a time may serve a flag file")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), lock.Close())
	}
	return lock, nil
}
