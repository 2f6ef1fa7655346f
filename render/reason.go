package render

import (
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Reason says which line of the intent wants a change, as "fabric.yaml:5:3",
// or the rule that does.
func Reason(sw *intent.Switch, c qos.Change) string {
	s := sw.Settings
	p := sw.Port(c.Port)
	if p != nil {
		s = p.Settings
	}
	return origin(sw, p, s, c.Field)
}

func origin(sw *intent.Switch, p *intent.Port, s *intent.Settings, field string) string {
	switch {
	case strings.HasPrefix(field, "maps.") || strings.HasPrefix(field, "global_maps."):
		return classLines(s, func(*intent.Class) bool { return true })
	case strings.HasSuffix(field, ".derived_from") && p != nil:
		return p.Cable.From.String()
	case field == "pfc" || field == "link_pause" || strings.HasPrefix(field, "groups["):
		return classLines(s, func(k *intent.Class) bool { return k.Lossless.V })
	case strings.HasPrefix(field, "queues["):
		q := queue(field)
		for _, k := range s.Classes {
			if k.Queue.V != q {
				continue
			}
			switch {
			case strings.HasSuffix(field, ".ecn"):
				return k.ECN.Mode.From.String()
			case strings.HasSuffix(field, ".scheduler") && !k.Strict.V:
				return k.Bandwidth.From.String()
			}
			return k.Pos.String()
		}
	case field == "watchdog":
		return s.Watchdog.Detect.From.String()
	case field == "watchdog_poll":
		return s.Watchdog.Poll.From.String()
	case field == "mtu":
		return s.MTU.Fabric.From.String()
	case field == "trust":
		return s.Trust.From.String()
	case field == "headroom_model":
		return s.Buffers.Alpha.From.String()
	case field == "pfc_asymmetric":
		return s.PFCAsymmetric.From.String()
	case p == nil:
	case field == qos.PortField:
		return p.Pos.String()
	case field == "speed":
		return p.Speed.From.String()
	case field == "cable":
		return p.Cable.From.String()
	case field == "lag":
		return p.LAG.From.String()
	case field == "fec":
		return p.FEC.From.String()
	case field == "admin_up":
		return p.AdminUp.From.String()
	}
	return sw.Model.From.String()
}

func queue(field string) int {
	_, rest, _ := strings.Cut(field, "[")
	n, _, _ := strings.Cut(rest, "]")
	q, err := strconv.Atoi(n)
	if err != nil {
		return -1
	}
	return q
}

// classLines names the first class that counts, and how many more there are.
func classLines(s *intent.Settings, counts func(*intent.Class) bool) string {
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
		return first + " and " + strconv.Itoa(more) + " more classes"
	}
	return first
}
