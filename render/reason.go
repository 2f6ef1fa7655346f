package render

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Reason returns the line of the intent that sets an attribute of a port (of the switch if
// at.Port is empty), as "fabric.yaml:5:3", or the rule that sets it.
func Reason(sw *intent.Switch, at qos.Place) string {
	s := stated{Settings: sw.Settings, sw: sw, port: sw.Port(at.Port), queue: int(at.Field.Index)}
	if s.port != nil {
		s.Settings = s.port.Settings
	}
	return origins[at.Field.Kind.Source()](s)
}

// stated is the part of the intent that sets an attribute.
type stated struct {
	*intent.Settings
	sw    *intent.Switch
	port  *intent.Port // nil for the switch, and for a port that the intent does not name
	queue int
}

// origins returns the line of the intent for each [qos.Source].
var origins = [qos.NumSources]func(stated) string{
	qos.SourceClasses:    func(s stated) string { return s.classes(func(*intent.Class) bool { return true }) },
	qos.SourceLossless:   func(s stated) string { return s.classes(func(k *intent.Class) bool { return k.Lossless.V }) },
	qos.SourceQueueClass: func(s stated) string { return s.class(func(k *intent.Class) string { return k.Pos.String() }) },
	qos.SourceQueueECN: func(s stated) string {
		return s.class(func(k *intent.Class) string { return k.ECN.Mode.From.String() })
	},
	qos.SourceQueueBandwidth: func(s stated) string { return s.class(bandwidth) },
	qos.SourcePort:           func(s stated) string { return s.ofPort(func(p *intent.Port) string { return p.Pos.String() }) },
	qos.SourceSpeed:          func(s stated) string { return s.ofPort(func(p *intent.Port) string { return p.Speed.From.String() }) },
	qos.SourceLAG:            func(s stated) string { return s.ofPort(func(p *intent.Port) string { return p.LAG.From.String() }) },
	qos.SourceFEC:            func(s stated) string { return s.ofPort(func(p *intent.Port) string { return p.FEC.From.String() }) },
	qos.SourceAdminUp:        func(s stated) string { return s.ofPort(func(p *intent.Port) string { return p.AdminUp.From.String() }) },
	qos.SourceCable:          func(s stated) string { return s.ofPort(func(p *intent.Port) string { return p.Cable.From.String() }) },
	qos.SourceMTU:            func(s stated) string { return s.MTU.Fabric.From.String() },
	qos.SourceTrust:          func(s stated) string { return s.Trust.From.String() },
	qos.SourcePFCAsymmetric:  func(s stated) string { return s.PFCAsymmetric.From.String() },
	qos.SourceWatchdog:       func(s stated) string { return s.Watchdog.Detect.From.String() },
	qos.SourceWatchdogPoll:   func(s stated) string { return s.Watchdog.Poll.From.String() },
	qos.SourceAlpha:          stated.alpha,
	qos.SourceModel:          stated.model,
}

// alpha returns the line of the first class that states its own alpha, or else the line for all.
func (s stated) alpha() string {
	for _, k := range s.Classes {
		if s.OwnAlpha(k) {
			return k.Alpha.From.String()
		}
	}
	return s.Buffers.Alpha.From.String()
}

func (s stated) model() string { return s.sw.Model.From.String() }

// ofPort returns a line of the port, or the line of the switch if the intent does not name the
// port.
func (s stated) ofPort(line func(*intent.Port) string) string {
	if s.port == nil {
		return s.sw.Pos.String()
	}
	return line(s.port)
}

// class returns a line of the class that uses the queue, or the line of the model if no class
// does.
func (s stated) class(line func(*intent.Class) string) string {
	for _, k := range s.Classes {
		if k.Queue.V == s.queue {
			return line(k)
		}
	}
	return s.model()
}

func bandwidth(k *intent.Class) string {
	if k.Strict.V {
		return k.Pos.String()
	}
	return k.Bandwidth.From.String()
}

// classes returns the line of the first class that counts, and how many more there are.
func (s stated) classes(counts func(*intent.Class) bool) string {
	first, more := "", 0
	for _, k := range s.Classes {
		if !counts(k) {
			continue
		}
		if first == "" {
			first = k.Pos.String()
		} else {
			more++
		}
	}
	switch {
	case first == "":
		return "no class is lossless"
	case more > 0:
		return first + " and " + words.Plural(more, "more class", "more classes")
	}
	return first
}
