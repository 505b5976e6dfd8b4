package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// glassRecord is what this machine keeps of a broken glass.
type glassRecord struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Reason  string    `json:"reason,omitempty"`
	Store   string    `json:"store"`
	Rollout string    `json:"rollout,omitempty"`
	Lanes   []outcome `json:"lanes"`
	Doubts  []string  `json:"doubts,omitempty"` // what could not be looked at
	File    string    `json:"record,omitempty"` // where it was written, in the output only
}

// signature is what the flags' stamps say of it.
func (r *glassRecord) signature() string {
	text := glassSign + r.By
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}

// write puts the record into a file of its own, for its owner only.
func (r *glassRecord) write(folder string) (path string, err error) {
	if folder == "" {
		home, homeErr := os.UserHomeDir()
		state := os.Getenv("XDG_STATE_HOME")
		if state == "" && homeErr != nil {
			return "", homeErr
		}
		folder = filepath.Join(cmp.Or(state, filepath.Join(home, ".local", "state")), "rolloutctl")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", fmt.Errorf("writing the record: %w", err)
	}
	path = filepath.Join(folder, "break-glass-"+r.At.Format("20060102T150405.000Z")+".json")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.Write(append(text, '\n'))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", err
	}
	return path, nil
}
