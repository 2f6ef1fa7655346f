package local

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/perftest"
)

// Load is one program of perftest that a host runs for a while.
type Load struct {
	Port string `json:"port"` // the NIC, by its name in the intent
	// Test says what the program does. The host sets its Device and GID.
	Test perftest.Options `json:"test"`
	// Limit is after how many seconds the host ends the program, even if the other end still runs.
	Limit int `json:"limit"`
	// Run names the run that the program belongs to. It is in the command line of timeout(1), by
	// which an operator finds what a host still runs.
	Run string `json:"run"`
}

// Loaded says how a [Load] ended.
type Loaded struct {
	Result perftest.Result `json:"result"`
	Error  string          `json:"error,omitempty"` // why there is no result
}

// Limits of a load. A client may start before the server of the other host listens.
const (
	maxLoads     = 4096
	maxLimit     = 25 * 60 * 60
	connectWait  = 20 * time.Second
	connectAgain = 200 * time.Millisecond
	// killAfter is how long a program may take to end after it was asked to.
	killAfter = 5
)

// runMark is the variable of the environment that marks the programs of a run.
const runMark = "ROCE_FABRIC_PROVE"

// runName matches the name of a run.
var runName = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Load runs programs side by side until all have ended, and returns the result of each. When ctx
// ends, it ends the programs; if this process is killed, timeout(1) ends them. Without programs it
// only returns an error if the host lacks perftest.
func (m *Machine) Load(ctx context.Context, loads []Load) ([]Loaded, error) {
	if len(loads) > maxLoads {
		return nil, fmt.Errorf("%d programs: at most %d run at a time", len(loads), maxLoads)
	}
	if m.Tools == nil {
		return nil, fmt.Errorf("run perftest: %w", ErrUnsupported)
	}
	if len(loads) == 0 {
		return nil, m.hasPerftest(ctx)
	}
	for i := range loads {
		if l := &loads[i]; !runName.MatchString(l.Run) || l.Limit < 1 || l.Limit > maxLimit {
			return nil, fmt.Errorf("run %q for at most %d s: %w", clip(l.Run), l.Limit, ErrUnsupported)
		}
	}
	out := make([]Loaded, len(loads))
	var all sync.WaitGroup
	for i, l := range loads {
		all.Go(func() {
			r, err := m.load(ctx, l)
			out[i].Result = r
			if err != nil {
				out[i].Error = clip(err.Error())
			}
		})
	}
	all.Wait()
	return out, ctx.Err()
}

// hasPerftest returns an error unless perftest can be started. Its exit status after --version
// differs between releases.
func (m *Machine) hasPerftest(ctx context.Context) error {
	const seconds = 10
	ctx, cancel := context.WithTimeout(ctx, (seconds+2*killAfter)*time.Second)
	defer cancel()
	res, err := m.Tools.Run(ctx, "timeout", "--kill-after="+strconv.Itoa(killAfter), strconv.Itoa(seconds), "env", runMark+"=look", string(perftest.WriteBW), "--version")
	switch {
	case err != nil:
		return err
	case res.Code == 127 || res.Code == 126:
		return fmt.Errorf("%s is not installed", perftest.WriteBW)
	}
	return nil
}

// load runs one program. It starts a client again as long as the other end does not listen.
func (m *Machine) load(ctx context.Context, l Load) (r perftest.Result, err error) {
	if l.Test.Device, l.Test.GID, err = m.sender(l.Port); err != nil {
		return r, err
	}
	if err := l.Test.Check(); err != nil {
		return r, err
	}
	args := append([]string{"--kill-after=" + strconv.Itoa(killAfter), strconv.Itoa(l.Limit), "env", runMark + "=" + l.Run, string(l.Test.Test)}, l.Test.Args()...)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.Limit+2*killAfter)*time.Second)
	defer cancel()
	for begin := time.Now(); ; {
		res, err := m.Tools.Run(ctx, "timeout", args...)
		if err != nil {
			return r, err
		}
		words := strings.Join(res.LastWords(), "; ")
		switch {
		case res.Code == 0:
			return perftest.Parse(l.Test.Test, string(res.Stdout))
		case l.Test.Server != "" && strings.Contains(string(res.Stderr), "Couldn't connect") && time.Since(begin) < connectWait:
			select {
			case <-ctx.Done():
				return r, ctx.Err()
			case <-time.After(connectAgain):
			}
		case res.Code == 124:
			return r, fmt.Errorf("%s did not end within %d s", l.Test.Test, l.Limit)
		case res.Code == 127:
			return r, fmt.Errorf("%s is not installed", l.Test.Test)
		default:
			return r, fmt.Errorf("%s: exit status %d: %s", l.Test.Test, res.Code, words)
		}
	}
}

// sender returns the RDMA device of a NIC, and the index of a RoCE v2 GID whose packets are routed,
// of IPv4 if there is one.
func (m *Machine) sender(port string) (device string, gid int, err error) {
	d, err := m.device(port)
	if err != nil {
		return "", 0, err
	}
	if d.rdma == "" {
		return "", 0, fmt.Errorf("%s has no RDMA device", clip(port))
	}
	slots, err := m.fs().ReadDir(m.portFile(d, "gids"))
	if err != nil {
		return "", 0, err
	}
	gid = -1
	for _, slot := range slots {
		n, ok := decimal(slot)
		if !ok || n > maxGIDs {
			continue
		}
		text, err1 := m.text(m.portFile(d, "gids", slot))
		kind, err2 := m.text(m.portFile(d, "gid_attrs", "types", slot))
		addr, err3 := netip.ParseAddr(text)
		if errors.Join(err1, err2, err3) != nil || kind != nic.ModeRoCEv2 || addr.IsUnspecified() || addr.IsLinkLocalUnicast() {
			continue
		}
		if addr.Is4In6() {
			return d.rdma, int(n), nil
		}
		gid = int(n)
	}
	if gid < 0 {
		return "", 0, fmt.Errorf("%s has no RoCE v2 address to send from", d.rdma)
	}
	return d.rdma, gid, nil
}
