package operator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// seen holds what the readers saw of a fabric's devices, compared with each other.
type seen struct {
	since    time.Time // when the first device was read
	devices  map[string]*device
	findings []checks.Finding // all findings, including those of devices
	gone     []deviceObject   // objects of devices that are no longer in the intent
	waiting  int              // number of devices without an up-to-date reading
	state    string           // changes whenever a reading changes
}

// device holds the object and the findings of one device.
type device struct {
	object   deviceObject
	findings []checks.Finding
}

// late is how long a device may go unread before that is a finding: the replica in charge of it
// may have died, and its successor needs a period too.
func late(f *v1alpha1.Fabric) time.Duration { return 2*interval(f) + time.Minute }

// skew is the largest clock difference between replicas that is not a finding.
const skew = time.Minute

// readingChanged passes events in which a reading has changed.
var readingChanged = predicate.Funcs{
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := stateOf(e.ObjectOld), stateOf(e.ObjectNew)
		return was.Intent != is.Intent || was.Message != is.Message || !bytes.Equal(was.Summary, is.Summary)
	},
}

func stateOf(o client.Object) v1alpha1.DeviceState {
	switch o := o.(type) {
	case *v1alpha1.SwitchStatus:
		return o.Status
	case *v1alpha1.HostStatus:
		return o.Status
	}
	return v1alpha1.DeviceState{}
}

// observe compares the readings of the devices with each other: both ends of each link, roles,
// and pause cycles. It reports no findings until every device has been read since the intent
// last changed and the last run ended.
func (r *fabricReconciler) observe(ctx context.Context, f *v1alpha1.Fabric, in *inUse) (*seen, error) {
	all, err := r.statuses(ctx, f)
	if err != nil {
		return nil, err
	}
	fabric, state := in.Fabric.Fabric(), sha256.New()
	out, run, now := &seen{devices: map[string]*device{}}, validate.NewRun(fabric), time.Now()
	kept := map[[sha256.Size]byte]known{}
	var hosts []*nic.Host
	for name := range deviceNames(in.Fabric) {
		key := deviceName(f.Name, name)
		o, ok := all[key]
		delete(all, key)
		if !ok || o.status.LastTry == nil || !upToDate(f, fabric.Hash, o.status.LastTry.Time, o.status.Intent) {
			out.waiting++
			continue
		}
		out.devices[name] = &device{object: o}
		if at := o.status.LastTry.Time; out.since.IsZero() || at.Before(out.since) {
			out.since = at
		}
		if age := now.Sub(o.status.LastTry.Time); age > late(f) {
			run.Note(checks.Finding{ID: fleet.Unread, Severity: checks.Error, Device: name, What: fmt.Sprintf("no replica has read the device for %s", age.Round(time.Second)), Fix: "look into the logs of the operator"})
		}
		if ahead := o.status.LastTry.Time.Sub(now); ahead > skew {
			run.Note(checks.Finding{ID: fleet.Unread, Severity: checks.Warning, Device: name, What: fmt.Sprintf("the clock of replica %s is %s ahead", o.status.Replica, ahead.Round(time.Second)), Fix: "synchronise the clocks of the Nodes of the operator"})
		}
		sum := sha256.Sum256(o.status.Summary)
		_, _ = fmt.Fprintf(state, "%s %x\n", name, sum) // writing to a hash cannot fail
		k, ok := in.known[sum]
		if !ok {
			if k, err = readSummary(fabric, o.status.Summary); err != nil {
				// Happens while two replicas run different releases.
				k = known{summary: summary{Findings: []checks.Finding{{ID: fleet.Unread, Severity: checks.Info, Device: name, What: "cannot decode another replica's reading: " + err.Error(), Unchecked: "the device", Because: "its summary cannot be read"}}}}
			}
		}
		kept[sum] = k
		run.Note(k.Findings...)
		if k.result != nil {
			run.Add(k.result)
		}
		if k.Host != nil {
			hosts = append(hosts, k.Host)
		}
	}
	in.known = kept
	for _, o := range all {
		out.gone = append(out.gone, o)
	}
	if out.waiting > 0 {
		return out, nil
	}
	out.state = hex.EncodeToString(state.Sum(nil))
	run.Note(validate.Hosts(fabric, hosts, nil)...)
	run.Note(r.rivals(ctx, fabric)...)
	if err := run.Deadlocks(ctx); err != nil {
		return nil, err
	}
	out.findings = run.Findings(now)
	for _, fd := range out.findings {
		if d := out.devices[fd.Device]; d != nil {
			d.findings = append(d.findings, fd)
		}
	}
	return out, nil
}

// counts returns the number of findings by severity.
func counts(fs []checks.Finding) (c v1alpha1.Counts) {
	for _, f := range fs {
		switch {
		case f.Suppressed != nil:
			c.Suppressed++
			continue
		case f.Severity == checks.Error:
			c.Errors++
		case f.Severity == checks.Warning:
			c.Warnings++
		default:
			c.Infos++
		}
		if f.Inconclusive() {
			c.Inconclusive++
		}
	}
	return c
}

// verdict returns the verdict of a validation, with the same rules as package watch.
func verdict(fs []checks.Finding) v1alpha1.Verdict {
	unread := func(f checks.Finding) bool { return f.ID == fleet.Unread }
	any := func(is func(checks.Finding) bool) bool {
		return slices.ContainsFunc(fs, func(f checks.Finding) bool { return f.Suppressed == nil && is(f) })
	}
	switch {
	case any(func(f checks.Finding) bool { return f.Counts() && !unread(f) }):
		return v1alpha1.Errors
	case any(func(f checks.Finding) bool { return f.Counts() }):
		return v1alpha1.Unreachable
	case any(func(f checks.Finding) bool { return f.Severity == checks.Warning }):
		return v1alpha1.Warnings
	case any(checks.Finding.Inconclusive):
		return v1alpha1.Inconclusive
	}
	return v1alpha1.OK
}
