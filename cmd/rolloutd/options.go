package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// options is all that can be set. Each has a flag, an environment variable and
// a default, and the defaults run.
type options struct {
	place
	listen

	Journal     string    `env:"ROLLOUT_JOURNAL" help:"Where events are kept: sqlite:FILE or mysql:DSN. Default: sqlite:DATA/journal.db."`
	JournalFile reference `env:"ROLLOUT_JOURNAL_FILE" help:"Where --journal is, for a DSN with a password: a file, or env:NAME. User and password are read anew for each connection."`

	Flipt            string    `env:"ROLLOUT_FLIPT" help:"URL of Flipt, v1 or v2. Without it, flags are kept in DATA/flags.json and served by OFREP."`
	FliptTokenFile   reference `env:"ROLLOUT_FLIPT_TOKEN_FILE" help:"Where Flipt's token is: a file, or env:NAME. It is read anew for each request."`
	FliptEnvironment string    `env:"ROLLOUT_FLIPT_ENVIRONMENT" help:"Environment of Flipt v2. Default: default."`

	Region             string `env:"ROLLOUT_REGION,AWS_REGION" help:"Region of CloudWatch, where a plan names none."`
	CloudWatchEndpoint string `name:"cloudwatch-endpoint" env:"ROLLOUT_CLOUDWATCH_ENDPOINT,AWS_ENDPOINT_URL_CLOUDWATCH" help:"Asked in place of AWS's own endpoint."`
	CrossAccount       bool   `env:"ROLLOUT_CROSS_ACCOUNT" help:"Read metrics in the account that a plan names, from a monitoring account."`

	credentials aws.CredentialsProvider // of the demo's stand-in; else the environment's

	GuardEvery time.Duration `env:"ROLLOUT_GUARD_EVERY" default:"10s" help:"Time between two guard cycles."`
	ReadEvery  time.Duration `env:"ROLLOUT_READ_EVERY" default:"30s" help:"Time between two reads of metrics while a share is above 0."`
}

// place is where files are.
type place struct {
	Data   string `env:"ROLLOUT_DATA" default:"var" help:"Folder of whatever is kept in files."`
	Tokens string `env:"ROLLOUT_TOKENS" help:"File of tokens. Default: DATA/tokens.json; made with one admin if missing."`
}

// tokensPath is the file of tokens.
func (p *place) tokensPath() string {
	return cmp.Or(p.Tokens, filepath.Join(p.Data, "tokens.json"))
}

// listen is where the API is.
type listen struct {
	Listen string `env:"ROLLOUT_LISTEN" default:"127.0.0.1:8080" help:"Address of the API. Loopback unless you say otherwise."`
}

// complete fills in what depends on other options.
func (o *options) complete() error {
	switch {
	case o.Journal != "" && o.JournalFile != "":
		return fmt.Errorf("--journal and --journal-file: give one of them")
	case o.Journal == "" && o.JournalFile == "":
		o.Journal = "sqlite:" + filepath.Join(o.Data, "journal.db")
	}
	o.Tokens = o.tokensPath()
	for flag, d := range map[string]time.Duration{"--guard-every": o.GuardEvery, "--read-every": o.ReadEvery} {
		if d < 50*time.Millisecond || d > time.Hour {
			return fmt.Errorf("%s %v: must be from 50ms to 1h", flag, d)
		}
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return fmt.Errorf("--data %s: %w", o.Data, err)
	}
	return nil
}
