package operator

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/kubernetes/journal"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// maxSummary limits the size of a device's summary in its status, maxUnpacked its unpacked size.
// Most summaries have a few KiB.
const (
	maxSummary  = 256 << 10
	maxUnpacked = 64 << 20
)

// summary is what the replica that reads a device passes to the replica that compares devices.
type summary struct {
	// Findings are those that concern only this device.
	Findings []checks.Finding `json:"findings,omitempty"`
	Switch   json.RawMessage  `json:"switch,omitempty"`
	Host     *nic.Host        `json:"host,omitempty"`
}

// summaryOf returns the packed summary of a reading.
func summaryOf(l *loaded, r *fleet.Reading) ([]byte, error) {
	out := summary{Findings: r.Findings, Host: r.Host}
	switch {
	case r.Err != nil:
		out = summary{Findings: []checks.Finding{r.Unread()}}
	case r.Switch != nil:
		var err error
		if out.Switch, err = r.Switch.Summary(); err != nil {
			return nil, err
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("summary of %s: %w", r.Device, err)
	}
	// Remove the folder of the intent, which differs between replicas.
	packed := journal.Pack([]byte(l.withoutFolder(string(b))))
	if len(packed) > maxSummary {
		return nil, fmt.Errorf("the summary of %s has %d KiB, more than the limit of %d KiB", r.Device, len(packed)>>10, maxSummary>>10)
	}
	return packed, nil
}

// known is a decoded summary.
type known struct {
	summary
	result *validate.Result // set for switches
}

// readSummary decodes the summary of a device of the same intent.
func readSummary(f *intent.Fabric, packed []byte) (k known, err error) {
	b, err := journal.Unpack(packed, maxUnpacked)
	if err == nil {
		err = json.Unmarshal(b, &k.summary)
	}
	if err == nil && k.Switch != nil {
		k.result, err = validate.ReadSummary(f, k.Switch)
		k.Switch = nil // no longer needed
	}
	return k, err
}

// endsOf returns the link ends from the summaries of switches.
func endsOf(results map[string]*validate.Result) fleet.Ends {
	return func(e intent.Endpoint) checks.End { return results[e.Device].End(e.Port) }
}

// withoutFolder removes the folder of the intent's files from a text.
func (l *loaded) withoutFolder(text string) string {
	if l.dir == "" {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, l.dir+"/intent/", ""), l.dir+"/", "")
}
