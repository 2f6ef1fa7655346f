package local

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/mark"
	"github.com/roce-fabric/roce-fabric/internal/ownfile"
)

// Left is a setting as a run left it.
type Left struct {
	Port  string    `json:"port"`
	Field string    `json:"field"`
	Value Value     `json:"value"`
	Run   mark.Mark `json:"run"`
	At    time.Time `json:"at"`
}

func (m *Machine) stateFile() string { return under(m.Run, "/run", mark.State) }

// Left returns the settings that runs with a mark have changed on this machine since it booted,
// each with its last value. An unreadable list counts as empty.
func (m *Machine) Left() []Left {
	f, err := ownfile.Open(m.stateFile(), os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	var all []Left
	if json.NewDecoder(io.LimitReader(f, MaxFile)).Decode(&all) != nil {
		return nil
	}
	for i := range all {
		all[i].Run = all[i].Run.Clean()
	}
	return all
}

// Holds reports whether the machine still has the setting as the run left it.
func (m *Machine) Holds(ctx context.Context, l Left) bool {
	d, err := m.device(l.Port)
	if err != nil {
		return false
	}
	o, ok := opOf(d, l.Field)
	if !ok {
		return false
	}
	have, err := o.read(m, ctx, d)
	return err == nil && l.Value.same(have)
}

// recordLeft records that a setting was set under a mark. Without a mark, it removes the setting
// from the list, since no run is responsible for it any more. As for [Machine.Hold], it is no error
// if the machine cannot keep the list.
func (m *Machine) recordLeft(run *mark.Mark, port, field string, v Value) {
	before := m.Left()
	all := slices.DeleteFunc(slices.Clone(before), func(l Left) bool { return l.Port == port && l.Field == field })
	if run != nil {
		all = append(all, Left{port, field, v, *run, time.Now().UTC()})
	}
	if len(all) == 0 && len(before) == 0 {
		return
	}
	if b, err := json.Marshal(all); err == nil {
		_ = atomicfile.Write(m.stateFile(), b, 0o600)
	}
}

// marked returns the mark of the run that works on the machine; nil if there is none. Another
// process may hold the mark.
func (m *Machine) marked() *mark.Mark {
	f, err := ownfile.Open(under(m.Run, "/run", mark.Name), os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return nil // the process that set it is gone
	}
	text, err := io.ReadAll(io.LimitReader(f, mark.Max+1))
	if err != nil {
		return nil
	}
	return new(mark.Parse(text))
}

// Index returns the kernel's index of a network interface, which differs from that of a later
// interface with the same name; "" if there is no such interface.
func (m *Machine) Index(name string) string {
	ifname, err := m.ifname(name)
	if err != nil {
		return ""
	}
	n, _ := m.text(m.sysNet(ifname, "ifindex"))
	return n
}
