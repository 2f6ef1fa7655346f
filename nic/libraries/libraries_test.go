package libraries

import (
	"net/url"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// TestSources checks that each line of advice has a source, and that each library says something.
func TestSources(t *testing.T) {
	source := func(of, s string) {
		if u, err := url.Parse(s); err != nil || u.Scheme != "https" || u.Host == "" {
			t.Errorf("%s: the source %q", of, s)
		}
	}
	names := map[string]bool{}
	for _, l := range All {
		if names[l.Name] {
			t.Errorf("%s is there twice", l.Name)
		}
		names[l.Name] = true
		if len(l.Settings)+len(l.Notes) == 0 {
			t.Errorf("%s says nothing", l.Name)
		}
		for _, s := range l.Settings {
			source(l.Name+" "+s.Name, s.Source)
			if s.As != Env && s.As != Option || s.Value == "" || s.Does == "" {
				t.Errorf("%s: %+v", l.Name, s)
			}
		}
		for _, n := range l.Notes {
			source(l.Name, n.Source)
		}
	}
	if len(All) < 12 {
		t.Errorf("%d libraries", len(All))
	}
}

// TestFor checks that values of the mark are filled in, and that settings for a trust mode appear
// only with it.
func TestFor(t *testing.T) {
	m := nic.Mark{DSCP: 34, ToS: 138, Priority: 4, Trust: qos.TrustDSCP}
	for _, l := range All {
		all := l.For(m)
		for _, s := range all.Settings {
			if strings.ContainsAny(s.Value+s.Does, "{}") || s.Trust == qos.TrustPCP {
				t.Errorf("%s: %+v", l.Name, s)
			}
		}
		for _, n := range all.Notes {
			if strings.ContainsAny(n.Text, "{}") {
				t.Errorf("%s: %q", l.Name, n.Text)
			}
		}
	}
	nccl, _ := Lookup("nccl")
	if got := nccl.For(m).Settings[0]; got.Name != "NCCL_IB_TC" || got.Value != "138" {
		t.Errorf("%+v", got)
	}
	m.Trust = qos.TrustPCP
	if got := nccl.For(m).Settings; got[len(got)-1].Name != "NCCL_IB_SL" || got[len(got)-1].Value != "4" {
		t.Errorf("with trust: pcp %+v", got)
	}
	if nccl.Settings[0].Value != "{tos}" {
		t.Error("For changed the list")
	}
}
