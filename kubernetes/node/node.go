// Package node reports on a Kubernetes Node whether the host's NICs are as the fabric needs
// them: through the condition RoCEReady, labels for the rails, and a taint.
//
// The package does not read the host itself; package watch/keep does, as in 'roce-fabric nic
// agent'.
package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/watch/keep"
)

const (
	// Ready is the type of the Node condition.
	Ready corev1.NodeConditionType = "RoCEReady"
	// Taint is the key of the taint on Nodes whose condition is False.
	Taint = "roce-fabric.io/not-ready"
	// rail is the prefix of a rail's label, followed by its number; the value is the switch.
	rail = "roce-fabric.io/rail-"
	// maxRails is the number of rails that get a label.
	maxRails = 32
)

// The reasons of the condition.
const (
	asWanted   = "AsWanted"
	differs    = "Differs"
	missing    = "Missing"
	noCarrier  = "NoCarrier"
	notRead    = "NotRead"
	notChecked = "NotChecked"
)

const (
	// heartbeat is the maximum age of the condition while nothing changes.
	heartbeat = 5 * time.Minute
	// retry is the delay after a failed write to a Node, callTime the time limit of one call.
	retry, callTime = 10 * time.Second, 30 * time.Second
	// maxMessage limits the length of the condition's message.
	maxMessage = 4096
)

// report is what the Reporter writes to the Node.
type report struct {
	status          corev1.ConditionStatus
	reason, message string
	at              time.Time
	rails           map[int]string
}

func (r *report) same(o *report) bool {
	return r != nil && r.status == o.status && r.reason == o.reason && r.message == o.message && fmt.Sprint(r.rails) == fmt.Sprint(o.rails)
}

// Reporter writes to one Node. [Reporter.Looked] is the callback for [keep.Config].
type Reporter struct {
	// Client needs the permission to patch nodes/status, and nodes if Taint is set.
	Client client.Client
	// Node is the name of the Node.
	Node string
	// Taint adds a taint to the Node while its condition is False.
	Taint bool
	// Rails returns the switches of the rails; nil if there are none.
	Rails func() map[int]string
	Log   logr.Logger

	next chan *report
}

// New initialises a Reporter.
func New(r Reporter) *Reporter {
	r.next = make(chan *report, 1)
	return &r
}

// Looked takes the result of a check of the host. It does not block.
func (r *Reporter) Looked(s keep.State, running *nic.Host) {
	out := reportOf(s, running)
	if r.Rails != nil {
		out.rails = r.Rails()
	}
	for {
		select {
		case r.next <- out:
			return
		case <-r.next: // drop an older report
		}
	}
}

func reportOf(s keep.State, running *nic.Host) *report {
	out := judge(s, running)
	if len(out.message) > maxMessage {
		out.message = strings.ToValidUTF8(out.message[:maxMessage-3], "") + "..."
	}
	return out
}

func judge(s keep.State, running *nic.Host) *report {
	out := &report{status: corev1.ConditionTrue, reason: asWanted, at: s.Looked}
	if s.Error != "" || running == nil {
		out.status, out.reason, out.message, out.at = corev1.ConditionUnknown, notRead, "the host cannot be read: "+s.Error, time.Now()
		return out
	}
	var wrong, open []keep.Difference
	why := differs
	for _, d := range s.Differences {
		if d.Kind == nic.KindMissing {
			why = missing
		}
		switch {
		case d.Kind != nic.KindUnknown:
			wrong = append(wrong, d)
		case nic.Essential(d.Field):
			open = append(open, d)
		}
	}
	var dark []string
	for _, name := range natural.Keys(running.Ports) {
		if c := running.Ports[name].Carrier; c.Set && !c.V {
			dark = append(dark, name)
		}
	}
	switch {
	case len(wrong) > 0:
		out.status, out.reason, out.message = corev1.ConditionFalse, why, textOf(wrong)
	case len(dark) > 0:
		out.status, out.reason = corev1.ConditionFalse, noCarrier
	case len(open) > 0:
		out.status, out.reason, out.message = corev1.ConditionUnknown, notChecked, textOf(open)
	default:
		out.message = words.Plural(len(running.Ports), "port is as wanted", "ports are as wanted") + ", by " + s.From
	}
	if len(dark) > 0 {
		out.message = strings.Join(slices.DeleteFunc([]string{out.message, "no carrier: " + natural.Fold(dark)}, func(s string) bool { return s == "" }), "; ")
	}
	if s.LoadError != "" {
		out.message += "; a newer wanted state could not be read: " + s.LoadError
	}
	return out
}

// textOf describes the differences like the agent's log, merging those that differ only in their
// port.
func textOf(all []keep.Difference) string {
	type alike struct {
		field, old, new, blocked string
		kind                     nic.Kind
	}
	var same ordered.Groups[alike, string]
	for _, d := range all {
		same.Add(alike{d.Field, d.Old, d.New, d.Blocked, d.Kind}, d.Port)
	}
	var out []string
	for key, ports := range same.All() {
		e := keep.Event{Type: keep.TypeOf(key.kind), Field: key.field, Old: key.old, New: key.new, Kind: key.kind, Blocked: key.blocked}
		e.Ports = slices.DeleteFunc(ports, func(p string) bool { return p == "" })
		out = append(out, e.String())
	}
	return strings.Join(out, "; ")
}

// Run writes the results of the checks to the Node until ctx ends. It learns the Node's state
// from the responses to its own writes, so it needs no permission to read Nodes.
func (r *Reporter) Run(ctx context.Context) {
	var last, want *report
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case want = <-r.next:
			if last.same(want) && want.at.Sub(last.at) < heartbeat {
				continue
			}
		case <-due:
		}
		due = nil
		err := r.write(ctx, want)
		if err == nil {
			last = want
			continue
		}
		if ctx.Err() != nil {
			return
		}
		r.Log.Error(err, "the Node was not written to", "node", r.Node)
		last, due = nil, time.After(retry)
	}
}

// write writes a report to the Node.
func (r *Reporter) write(ctx context.Context, want *report) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: r.Node}}
	// An empty patch changes nothing and returns the Node.
	if err := r.patch(ctx, n, map[string]any{}); err != nil {
		return err
	}
	at := metav1.NewTime(want.at.Truncate(time.Second))
	c := corev1.NodeCondition{Type: Ready, Status: want.status, Reason: want.reason, Message: want.message, LastHeartbeatTime: at, LastTransitionTime: at}
	if i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == Ready }); i >= 0 && n.Status.Conditions[i].Status == c.Status {
		c.LastTransitionTime = n.Status.Conditions[i].LastTransitionTime
	}
	labels := map[string]any{}
	for i := 1; i <= maxRails; i++ {
		key, value := rail+strconv.Itoa(i), want.rails[i]
		switch is, ok := n.Labels[key]; {
		case value != "" && is != value:
			labels[key] = value
		case value == "" && ok:
			labels[key] = nil
		}
	}
	err := r.patch(ctx, n, map[string]any{"metadata": map[string]any{"labels": labels}, "status": map[string]any{"conditions": []any{c}}})
	if err != nil {
		return err
	}
	return r.taint(ctx, n, want.status == corev1.ConditionFalse)
}

// patch patches the status of the Node, and the labels in the same object.
func (r *Reporter) patch(ctx context.Context, n *corev1.Node, with map[string]any) error {
	b, err := json.Marshal(with)
	if err != nil {
		return err
	}
	return r.Client.Status().Patch(ctx, n, client.RawPatch(types.StrategicMergePatchType, b))
}

// taint adds or removes the Node's taint. It replaces the list of taints as a whole, and only if
// the Node has not changed since it was read.
func (r *Reporter) taint(ctx context.Context, n *corev1.Node, bad bool) error {
	if !r.Taint {
		return nil
	}
	ours := func(t corev1.Taint) bool { return t.Key == Taint }
	if slices.ContainsFunc(n.Spec.Taints, ours) == bad {
		return nil
	}
	taints := slices.DeleteFunc(slices.Clone(n.Spec.Taints), ours)
	if bad {
		taints = append(taints, corev1.Taint{Key: Taint, Effect: corev1.TaintEffectNoSchedule})
	}
	b, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": n.ResourceVersion}, "spec": map[string]any{"taints": taints}})
	if err != nil {
		return err
	}
	err = r.Client.Patch(ctx, n, client.RawPatch(types.MergePatchType, b))
	if apierrors.IsConflict(err) {
		err = fmt.Errorf("another client changed the Node: %w", err)
	}
	return err
}
