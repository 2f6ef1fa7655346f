package nicctl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// Limits for what is accepted from one host.
const (
	maxPorts    = 256
	maxDevices  = 4096
	maxProfiles = 64
	maxParams   = 64
)

var (
	cardLine = lazyre.New(`^NIC\s*:\s*([0-9A-Za-z-]{1,64})\s*\(([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\)$`)
	portLine = lazyre.New(`^Port\s*:\s*([0-9A-Za-z][0-9A-Za-z-]{0,63})(?:\s*\(\S{1,64}\))?$`)
	macText  = lazyre.New(`^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$`)
	typeText = lazyre.New(`^[A-Za-z][A-Za-z0-9-]{0,15}$`)
	rdmaText = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)
)

// scanner is the position in an answer: a line, and the card and port that it belongs to.
type scanner struct {
	line      string
	card, pci string
	port      string
	// began reports whether the line is the heading of a port.
	began bool
}

// scan calls f with each line that has content. A heading that cannot be parsed is an error,
// because it is then unknown what the following lines belong to.
func scan(lines []string, f func(*scanner) error) error {
	s := &scanner{}
	for _, line := range lines {
		s.line, s.began = strings.TrimSpace(line), false
		key, _, colon := cut(s.line)
		switch {
		case s.line == "" || strings.Trim(s.line, "-*=") == "":
			continue
		case colon && key == "NIC":
			m := cardLine.FindStringSubmatch(s.line)
			if m == nil {
				return fmt.Errorf("%w: %q", ErrOutput, word(s.line))
			}
			s.card, s.pci, s.port = m[1], m[2], ""
			continue
		case colon && key == "Port":
			m := portLine.FindStringSubmatch(s.line)
			if m == nil || s.card == "" {
				return fmt.Errorf("%w: %q", ErrOutput, word(s.line))
			}
			s.port, s.began = m[1], true
		}
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}

// cut splits "key : value".
func cut(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, ":")
	return strings.TrimSpace(key), strings.TrimSpace(value), ok
}

// number parses a decimal number of at most most.
func number(s string, most int) (int, bool) {
	if s == "" || len(s) > 9 || strings.TrimLeft(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n <= most
}

// field is a value that an answer should show only once.
type field struct {
	value, fault string
	seen         bool
}

// once stores a value; a second, different value makes the field unknown.
func (f *field) once(value string) {
	if f.seen && f.value != value {
		f.fault = fmt.Sprintf("nicctl shows both %q and %q", word(f.value), word(value))
	}
	f.value, f.seen = value, true
}

// parsePorts parses the output of "show port": the configuration under Spec, the current state
// under Status. Both use some of the same keys.
func (st *State) parsePorts(lines []string) error {
	var typ, rx, tx *field
	section := ""
	finish := func() {
		if typ != nil {
			p := &st.Ports[len(st.Ports)-1]
			set(p, PartPause, &p.Pause, func() (Pause, string) { return pauseOf(typ, rx, tx) })
		}
	}
	err := scan(lines, func(s *scanner) error {
		if s.began {
			finish()
			if len(st.Ports) == maxPorts || slices.ContainsFunc(st.Ports, func(p Port) bool { return p.ID == s.port }) {
				return fmt.Errorf("%w: port %s is shown twice, or there are more than %d", ErrOutput, word(s.port), maxPorts)
			}
			st.Ports = append(st.Ports, Port{ID: s.port, Card: s.card, PCI: s.pci, Missing: map[string]string{}})
			typ, rx, tx, section = &field{}, &field{}, &field{}, ""
			return nil
		}
		if s.port == "" {
			return nil
		}
		key, value, _ := cut(s.line)
		switch {
		case value == "" && (key == "Spec" || key == "Status"):
			section = key
		case section == "Status" && key == "MAC address" && macText.MatchString(value):
			st.Ports[len(st.Ports)-1].MAC = strings.ToLower(value)
		case section != "Spec":
		case key == "Pause type":
			typ.once(value)
		case key == "RX pause":
			rx.once(value)
		case key == "TX pause":
			tx.once(value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	finish()
	if len(st.Ports) == 0 {
		return fmt.Errorf("%w: show port shows no port", ErrOutput)
	}
	return nil
}

// set sets the value of a part, or records why it has none.
func set[T any](p *Port, part string, o *qos.Opt[T], value func() (T, string)) {
	v, why := value()
	if why != "" {
		p.Missing[part] = why
		return
	}
	*o = qos.Of(v)
}

func pauseOf(typ, rx, tx *field) (Pause, string) {
	for _, f := range []*field{typ, rx, tx} {
		if f.fault != "" {
			return Pause{}, f.fault
		}
	}
	p := Pause{Type: strings.ToLower(typ.value)}
	if !typeText.MatchString(typ.value) {
		return p, fmt.Sprintf("nicctl shows the pause type %q", word(typ.value))
	}
	for _, way := range []struct {
		f  *field
		on *bool
	}{{rx, &p.RX}, {tx, &p.TX}} {
		switch strings.ToLower(way.f.value) {
		case "enabled":
			*way.on = true
		case "disabled":
		default:
			return p, fmt.Sprintf("nicctl shows pause as %q", word(way.f.value))
		}
	}
	return p, ""
}

// parseDCQCN parses the output of "show dcqcn".
func (st *State) parseDCQCN(lines []string) error {
	card := ""
	var dev *Device
	var prof *Profile
	return scan(lines, func(s *scanner) error {
		if s.card != card {
			card, dev, prof = s.card, nil, nil
		}
		key, value, _ := cut(s.line)
		switch {
		case key == "ROCE device":
			if !rdmaText.MatchString(value) || card == "" || len(st.Devices) == maxDevices {
				return fmt.Errorf("%w: RDMA device %q", ErrOutput, word(value))
			}
			if slices.ContainsFunc(st.Devices, func(d Device) bool { return d.Name == value }) {
				return fmt.Errorf("%w: RDMA device %s is shown twice", ErrOutput, value)
			}
			st.Devices = append(st.Devices, Device{Name: value, Card: s.card, PCI: s.pci})
			dev, prof = &st.Devices[len(st.Devices)-1], nil
		case dev == nil:
		case key == "DCQCN profile id":
			n, ok := number(value, maxProfiles)
			if !ok || n < 1 || len(dev.Profiles) == maxProfiles {
				return fmt.Errorf("%w: DCQCN profile %q", ErrOutput, word(value))
			}
			dev.Profiles = append(dev.Profiles, Profile{ID: n, Params: map[string]uint64{}})
			prof = &dev.Profiles[len(dev.Profiles)-1]
		case prof == nil:
		case key == "Status":
			switch strings.ToLower(value) {
			case "enabled":
				prof.Enabled = qos.Of(true)
			case "disabled":
				prof.Enabled = qos.Of(false)
			}
		case key == "DSCP value used for CNP":
			if n, ok := number(value, qos.NumDSCP-1); ok {
				prof.CNPDSCP = qos.Of(n)
			}
		default:
			if n, ok := number(value, 1<<30); ok && len(prof.Params) < maxParams {
				prof.Params[slug(key)] = uint64(n)
			}
		}
		return nil
	})
}

// slug converts a label to a name: "rate_increase_in_ai_phase".
func slug(label string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r == ' ' || r == '-':
			return '_'
		}
		return -1
	}, strings.ToLower(word(label)))
}
