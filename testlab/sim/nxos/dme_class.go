package nxos

import (
	"strconv"
	"strings"
)

// dmeClass returns a class of a policy-map with its actions.
func dmeClass(c policyClass) map[string]any {
	out := map[string]any{"name": c.Name}
	for _, l := range c.Lines {
		w := strings.Fields(l)
		last := w[len(w)-1]
		switch {
		case strings.HasPrefix(l, "set qos-group "):
			out["setGrp-items"] = map[string]any{"id": number(last)}
		case strings.HasPrefix(l, "set dscp "):
			out["setDscp-items"] = map[string]any{"val": number(last)}
		case strings.HasPrefix(l, "set cos "):
			out["setCos-items"] = map[string]any{"val": number(last)}
		case w[0] == "mtu":
			out["mtu-items"] = map[string]any{"value": number(last)}
		case strings.HasPrefix(l, "pause pfc-cos "):
			pause := map[string]any{}
			for cos := range strings.SplitSeq(last, ",") {
				pause["pfcCos"+cos] = true
			}
			out["pause-items"] = pause
		case strings.HasPrefix(l, "pause buffer-size ") && len(w) == 7:
			out["pause-items"] = map[string]any{"bufferSize": number(w[2]), "pauseThreshold": number(w[4]), "resumeThreshold": number(w[6])}
		case strings.HasPrefix(l, "bandwidth remaining percent "):
			out["setRemBW-items"] = map[string]any{"val": number(last)}
		case strings.HasPrefix(l, "bandwidth percent "):
			out["setBW-items"] = map[string]any{"val": number(last)}
		case strings.HasPrefix(l, "priority level "):
			out["prio-items"] = map[string]any{"level": number(last)}
		case w[0] == "shape" && len(w) == 7:
			out["shape-items"] = map[string]any{"min": number(w[2]), "minRateUnit": w[3], "max": number(w[5]), "maxRateUnit": w[6]}
		case w[0] == "queue-limit":
			out["QueueLimit-items"] = dmeLimit(w)
		case w[0] == "random-detect" && len(w) > 1 && w[1] == "non-ecn":
			out["RandDetNonEcn-items"] = dmeThresholds(w, "NonEcn")
		case w[0] == "random-detect":
			out["RandDet-items"] = dmeThresholds(w, "")
		}
	}
	return out
}

func dmeLimit(w []string) map[string]any {
	out := map[string]any{"dynamic": 255} // no limit
	if len(w) == 3 && w[1] == "dynamic" {
		out["dynamic"] = number(w[2])
		return out
	}
	out["QueueLimitVal"] = number(w[1])
	if len(w) > 2 {
		out["QueueLimitUnit"] = w[2]
	}
	return out
}

// dmeThresholds returns the settings of a random-detect line, by name.
func dmeThresholds(w []string, suffix string) map[string]any {
	out := map[string]any{}
	if suffix == "" {
		out["ecn"], out["capAverage"] = false, false
	}
	for i, word := range w {
		next := func(n int) string {
			if i+n < len(w) {
				return w[i+n]
			}
			return ""
		}
		switch word {
		case "minimum-threshold":
			out["minThreshold"+suffix], out["minThresholdUnit"+suffix] = number(next(1)), next(2)
		case "maximum-threshold":
			out["maxThreshold"+suffix], out["maxThresholdUnit"+suffix] = number(next(1)), next(2)
		case "drop-probability":
			out["dropAvail"+suffix] = number(next(1))
		case "weight":
			out["weight"] = number(next(1))
		case "threshold":
			out["optimization"] = next(1)
		case "cap-average":
			out["capAverage"] = true
		case "ecn":
			out["ecn"] = true
		}
	}
	return out
}

// dmeClassMap returns a class-map with its matches.
func dmeClassMap(c classMap) map[string]any {
	out := map[string]any{"name": c.Name, "matchType": c.Match}
	for _, l := range c.Lines {
		w := strings.Fields(l)
		if len(w) < 3 || w[0] != "match" {
			continue
		}
		kind := map[string][3]string{"dscp": {"dscp-items", "Dscp-list", "val"}, "cos": {"cos-items", "Cos-list", "val"}, "qos-group": {"grp-items", "QoSGrp-list", "id"}}[w[1]]
		if kind[0] == "" {
			continue
		}
		var list []any
		for _, n := range numbersIn(w[2]) {
			v := any(n)
			if w[1] == "dscp" {
				v = strconv.Itoa(n) // newer models use strings, which may be names
			}
			list = append(list, map[string]any{kind[2]: v})
		}
		out[kind[0]] = map[string]any{kind[1]: list}
	}
	return out
}

// numbersIn parses a list of numbers and ranges.
func numbersIn(list string) []int {
	var out []int
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		lo := number(from)
		hi := lo
		if isRange {
			hi = number(to)
		}
		for n := lo; n <= hi; n++ {
			out = append(out, n)
		}
	}
	return out
}

// number parses a number that the grammar has accepted.
func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
