package mariadbtest

import (
	"os/exec"
	"syscall"
)

// dieWithParent lets the server end also when the test binary is killed and
// runs no clean-up.
func dieWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
