package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// databaseArg is a database on the command line.
type databaseArg rollout.Database

// UnmarshalText reads NAME:ENGINE.
func (d *databaseArg) UnmarshalText(text []byte) error {
	name, engine, ok := strings.Cut(string(text), ":")
	if !ok || name == "" || engine == "" {
		return fmt.Errorf("%q: must be NAME:ENGINE, such as orders:aurora-mysql", text)
	}
	*d = databaseArg{Name: name, Engine: engine}
	return nil
}

// endpointArg is an endpoint on the command line.
type endpointArg rollout.Endpoint

// UnmarshalText reads HOST:PORT[:KIND]; an IPv6 address is in brackets.
func (e *endpointArg) UnmarshalText(text []byte) error {
	wrong := fmt.Errorf("%q: must be HOST:PORT:KIND, such as orders-proxy.example:3306:rds-proxy", text)
	address, kind := string(text), ""
	if at := strings.LastIndex(address, ":"); at > 0 {
		if _, err := strconv.Atoi(address[at+1:]); err != nil {
			address, kind = address[:at], address[at+1:]
			if kind == "" {
				return wrong
			}
		}
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return wrong
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return wrong
	}
	*e = endpointArg{Host: host, Port: number, Kind: kind}
	return nil
}

// serviceArg is a service on the command line.
type serviceArg rollout.Service

// UnmarshalText reads NAME:TASKS:POOL_MAX.
func (s *serviceArg) UnmarshalText(text []byte) error {
	wrong := fmt.Errorf("%q: must be NAME:TASKS:POOL_MAX, such as checkout:120:38", text)
	parts := strings.Split(string(text), ":")
	if len(parts) != 3 || parts[0] == "" {
		return wrong
	}
	tasks, err := strconv.Atoi(parts[1])
	if err != nil {
		return wrong
	}
	pool, err := strconv.Atoi(parts[2])
	if err != nil {
		return wrong
	}
	*s = serviceArg{Name: parts[0], Tasks: tasks, PoolMax: pool}
	return nil
}
