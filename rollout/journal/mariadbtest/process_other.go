//go:build !linux

package mariadbtest

import "os/exec"

// dieWithParent can be had on Linux only.
func dieWithParent(*exec.Cmd) {}
