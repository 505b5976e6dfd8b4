#!/usr/bin/env bash
# Everything that must be green before a change goes in. On a Debian 12 machine
# with Go it installs what else is missing, then runs the checks, then all tests.
#
#   ./test.sh                          all of it
#   ./test.sh ./rollout/... -run Walk  the arguments go to go test
#
# It needs no terminal and no containers. Servers are started by the tests
# themselves, on free loopback ports and in temporary folders.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

failed=() # names of the steps that failed
running=  # process group of the step that runs
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/cutover.XXXXXX")
export TMPDIR

# However it ends, nothing that it started stays: neither processes nor files.
finish() {
	trap '' INT TERM
	[ -z "$running" ] || kill -KILL -- "-$running" 2>/dev/null || true
	rm -rf "$TMPDIR"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# step NAME COMMAND...: runs the command as a process group of its own. A step
# that fails does not keep the next ones from telling what they know.
step() {
	printf '\n== %s (after %d s)\n' "$1" "$SECONDS"
	set -m
	"${@:2}" </dev/null &
	running=$!
	set +m
	wait "$running" || failed+=("$1")
	kill -KILL -- "-$running" 2>/dev/null || true
	running=
}

tool() { go tool -modfile=tools/go.mod "$@"; }

# needed prints the Debian packages that are missing here.
needed() {
	[ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
	command -v gcc >/dev/null || echo gcc # the race detector needs it
	[ -e /usr/include/stdlib.h ] || echo libc6-dev
	command -v mariadbd >/dev/null || [ -x /usr/sbin/mariadbd ] || echo mariadb-server-core
	# Debian's own: another python3 in PATH does not see Debian's packages.
	/usr/bin/python3 -c 'import boto3' 2>/dev/null || echo python3-boto3
}

install_missing() {
	local missing as_root=()
	missing=$(needed | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" != 0 ]; then
		as_root=(sudo -n)
	fi
	if ! command -v apt-get >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
		echo "Missing here, and not ours to install: $missing" >&2
		echo "On Debian 12: apt-get update && apt-get install --no-install-recommends $missing" >&2
		exit 1
	fi
	echo "installing $missing"
	"${as_root[@]}" apt-get -qq update || echo "going by the package lists that are here"
	# shellcheck disable=SC2086 # one word a package
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes \
		--no-install-recommends -o DPkg::Lock::Timeout=400 $missing </dev/null >/dev/null
}

formatting() {
	local files
	files=$(tool gofumpt -l .)
	[ -z "$files" ] || { printf 'not formatted (make fmt):\n%s\n' "$files"; return 1; }
}

vulnerabilities() {
	local said status=0
	said=$(timeout 180 go tool -modfile=tools/go.mod govulncheck ./... 2>&1) || status=$?
	case "$status $said" in
	124* | *"fetching vulnerabilities"*) echo "the vulnerability database could not be reached: not checked" ;;
	*) printf '%s\n' "$said"; return "$status" ;;
	esac
}

tests() {
	local arg packages=(./...)
	for arg in "$@"; do
		case $arg in . | ./* | ...) packages=() ;; esac
	done
	go test -race -timeout 15m "$@" "${packages[@]}"
}

command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null || { echo "Go is missing: see https://go.dev/doc/install" >&2; exit 1; }
install_missing

step 'gofumpt' formatting
step 'go vet' go vet ./...
step 'golangci-lint' tool golangci-lint run
step 'govulncheck' vulnerabilities
step 'go mod tidy' go mod tidy -diff
step 'go build' go build -buildvcs=false ./...
step 'go test' tests "$@"

if [ ${#failed[@]} -gt 0 ]; then
	printf '\nfailed:' >&2
	printf ' [%s]' "${failed[@]}" >&2
	printf '\n' >&2
	exit 1
fi
