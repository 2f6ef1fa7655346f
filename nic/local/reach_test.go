package local_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// The output of iproute2 6.1.0.
const (
	usualRules = `[{"priority":0,"src":"all","table":"local"},{"priority":32766,"src":"all","table":"main"},{"priority":32767,"src":"all","table":"default"}]`
	ownTable   = `[{"priority":0,"src":"all","table":"local"},{"priority":32765,"src":"10.0.0.0","srclen":24,"table":"101"},{"priority":32766,"src":"all","table":"main"}]`
	front      = `{"dst":"default","gateway":"192.0.2.1","dev":"eth0","flags":[]},{"type":"local","dst":"10.0.0.1","dev":"` + ens0 + `","table":"local","protocol":"kernel","scope":"host","flags":[]}`
	subnet     = `{"dst":"10.0.0.0/24","dev":"` + ens0 + `","protocol":"kernel","scope":"link","prefsrc":"10.0.0.1","flags":[]}`
	wide       = `{"dst":"default","gateway":"10.0.0.254","dev":"` + ens0 + `","table":"101","flags":[]}`
	several    = `{"dst":"10.7.0.0/16","flags":[],"nexthops":[{"gateway":"192.0.2.1","dev":"eth0","weight":1,"flags":[]},{"gateway":"10.0.0.9","dev":"` + ens0 + `","weight":1,"flags":[]}]}`
)

// TestReach checks which routes lead through a port for packets with its address, 10.0.0.1.
func TestReach(t *testing.T) {
	list := func(s ...string) string { return "[" + strings.Join(s, ",") + "]" }
	ruled := func(rule string) string {
		return strings.Replace(ownTable, `"src":"10.0.0.0","srclen":24`, rule, 1)
	}
	for name, x := range map[string]struct{ rules, routes, want string }{
		"its subnet alone":                  {usualRules, list(front, subnet), "[10.0.0.0/24]"},
		"a table that no rule selects":      {usualRules, list(front, subnet, wide), "[10.0.0.0/24]"},
		"a table of its own":                {ownTable, list(front, subnet, wide), "[0.0.0.0/0]"},
		"one of several next hops":          {usualRules, list(front, several, subnet), "[10.7.0.0/16 10.0.0.0/24]"},
		"another source":                    {ruled(`"src":"10.9.0.1"`), list(front, subnet, wide), "[10.0.0.0/24]"},
		"its exact source":                  {ruled(`"src":"10.0.0.1"`), list(front, wide), "[0.0.0.0/0]"},
		"a mark":                            {ruled(`"src":"all","fwmark":"0x7"`), list(subnet, wide), "[10.0.0.0/24]"},
		"not another source":                {ruled(`"not":null,"src":"10.9.0.0","srclen":16`), list(subnet, wide), "[0.0.0.0/0]"},
		"packets that enter elsewhere":      {ruled(`"src":"all","iif":"eth0"`), list(subnet, wide), "[10.0.0.0/24]"},
		"packets of the host":               {ruled(`"src":"all","iif":"lo"`), list(subnet, wide), "[0.0.0.0/0]"},
		"sockets bound to it":               {ruled(`"src":"all","oif":"` + ens0 + `"`), list(subnet, wide), "[0.0.0.0/0]"},
		"sockets bound to another":          {ruled(`"src":"all","oif":"eth0"`), list(subnet, wide), "[10.0.0.0/24]"},
		"a VRF":                             {`[{"priority":1000,"src":"all","l3mdev":null}]`, list(subnet, wide), "[0.0.0.0/0]"},
		"a rule without a table":            {`[{"priority":1,"src":"all","action":"prohibit"}]`, list(subnet, wide), "[]"},
		"routes that nothing leads through": {usualRules, list(front), "[]"},
	} {
		h := newHost(t, mlx5(false))
		h.Programs["ip"] = ipShows(x.rules, x.routes)
		p := read(t, h.Machine()).Ports[ens0]
		if got := fmt.Sprint(p.Reach.V.To); !p.Reach.Set || got != x.want || p.Reach.V.Partial != "" {
			t.Errorf("%s: %s %q, want %s", name, got, p.Reach.V.Partial, x.want)
		}
	}
}

// ipShows returns a program that shows rules and routes of IPv4, and an IPv6 route.
func ipShows(rules, routes string) func(context.Context, []string) (runner.Result, error) {
	return func(_ context.Context, args []string) (runner.Result, error) {
		switch strings.Join(args, " ") {
		case "-j -4 rule show":
			return runner.Result{Stdout: []byte(rules)}, nil
		case "-j -4 route show table all":
			return runner.Result{Stdout: []byte(routes)}, nil
		case "-j -6 rule show": // as without IPv6
			return runner.Result{}, nil
		case "-j -6 route show table all":
			return runner.Result{Stdout: []byte(`[{"dst":"default","gateway":"fd00::1","dev":"` + ens0 + `","metric":1024,"flags":[],"pref":"medium"}]`)}, nil
		}
		return runner.Result{}, errors.New("no such command")
	}
}

// Without iproute2 the main table is read, and that is said.
func TestReachWithoutTheProgram(t *testing.T) {
	for name, program := range map[string]func(context.Context, []string) (runner.Result, error){
		"fails": func(context.Context, []string) (runner.Result, error) {
			return runner.Result{Code: 2, Stderr: []byte("Option unknown")}, nil
		},
		"no JSON": func(context.Context, []string) (runner.Result, error) {
			return runner.Result{Stdout: []byte("0: from all")}, nil
		},
		"not there": nil,
	} {
		h := newHost(t, mlx5(false))
		h.Routes(routes(ens0)...)
		if h.Programs["ip"] = program; program == nil {
			delete(h.Programs, "ip")
		}
		p := read(t, h.Machine()).Ports[ens0]
		if got := fmt.Sprint(p.Reach.V.To); got != "[0.0.0.0/0]" || p.Reach.V.Partial == "" {
			t.Errorf("%s: %s, %q", name, got, p.Reach.V.Partial)
		}
	}
}

// Routes through a bond over the port lead through it.
func TestReachThroughABond(t *testing.T) {
	h := bonded(t)
	h.Routes(routes("bond0")...)
	if p := read(t, h.Machine()).Ports[ens0]; fmt.Sprint(p.Reach.V.To) != "[0.0.0.0/0]" || p.Reach.V.Partial != "" {
		t.Errorf("%+v", p.Reach)
	}
}
