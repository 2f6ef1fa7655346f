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
)

// maxSummary bounds the summary of a device in its status, maxUnpacked what it says. Most
// take a few KiB.
const (
	maxSummary  = 256 << 10
	maxUnpacked = 64 << 20
)

// summary is what a replica that read a device hands to the one that compares devices.
type summary struct {
	// Findings are those that are about the device alone.
	Findings []validate.Finding `json:"findings,omitempty"`
	Switch   json.RawMessage    `json:"switch,omitempty"`
	Host     *nic.Host          `json:"host,omitempty"`
}

// summaryOf is the summary of what was read.
func summaryOf(l *loaded, r *fleet.Reading) ([]byte, error) {
	out := summary{Findings: r.Findings, Host: r.Host}
	switch {
	case r.Err != nil:
		out = summary{Findings: []validate.Finding{r.Unread()}}
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
	// Each replica has the intent in another folder.
	packed := journal.Pack([]byte(l.said(string(b))))
	if len(packed) > maxSummary {
		return nil, fmt.Errorf("the summary of %s has %d KiB: more than %d are not kept", r.Device, len(packed)>>10, maxSummary>>10)
	}
	return packed, nil
}

// known is a summary that was read.
type known struct {
	summary
	result *validate.Result // of a switch
}

// readSummary reads the summary of a device of the same intent.
func readSummary(f *intent.Fabric, packed []byte) (k known, err error) {
	b, err := journal.Unpack(packed, maxUnpacked)
	if err == nil {
		err = json.Unmarshal(b, &k.summary)
	}
	if err == nil && k.Switch != nil {
		k.result, err = validate.ReadSummary(f, k.Switch)
		k.Switch = nil // of no use any more
	}
	return k, err
}

// endsOf are the ends of links by the summaries of switches.
func endsOf(results map[string]*validate.Result) fleet.Ends {
	return func(e intent.Endpoint) validate.End { return results[e.Device].End(e.Port) }
}

// said is a text about the intent without the folder of its files.
func (l *loaded) said(text string) string {
	if l.dir == "" {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, l.dir+"/intent/", ""), l.dir+"/", "")
}
