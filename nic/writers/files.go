package writers

import (
	"iter"
	"path"
	"strings"

	"github.com/roce-fabric/roce-fabric/nic"
)

// Cron finds what a cron table sets. The time fields and the user are parsed as words before the
// command.
func (f *Finder) Cron(file string, text []byte) {
	s := &script{Finder: f, at: at{file: file}, vars: map[string][]string{}}
	n := 0
	for line := range strings.Lines(string(text)) {
		if n++; n > maxLines {
			return
		}
		s.at.line = n
		s.line(strings.TrimSpace(line))
		// "*/5 * * * * root /opt/roce.sh"
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			for _, w := range strings.Fields(line[:min(len(line), maxLine)]) {
				if strings.HasPrefix(w, "/") {
					s.follow(w)
					break
				}
			}
		}
	}
}

// Unit finds what the commands of a systemd unit set.
func (f *Finder) Unit(file string, text []byte, idle string) {
	s := &script{Finder: f, at: at{file: file, idle: idle}, vars: map[string][]string{}}
	for _, e := range ini(text) {
		if e.section != "Service" || !strings.HasPrefix(e.key, "Exec") || e.key == "ExecStop" || e.key == "ExecStopPost" {
			continue
		}
		s.at.line = e.line
		s.line(strings.TrimLeft(e.value, "-@:+!|"))
	}
}

// entry is a line of an INI file.
type entry struct {
	section, key, value string
	line                int
}

// ini parses "[Section]" and "key=value" lines. A line that ends with a backslash continues on the
// next.
func ini(text []byte) (out []entry) {
	section := ""
	for first, line := range logicalLines(text, "#;", " ") {
		if name, ok := strings.CutPrefix(line, "["); ok && strings.HasSuffix(name, "]") {
			section = strings.TrimSuffix(name, "]")
			continue
		}
		if k, v, ok := strings.Cut(line, "="); ok {
			out = append(out, entry{section, strings.TrimSpace(k), strings.TrimSpace(v), first})
		}
	}
	return out
}

// logicalLines yields the lines of a file except empty ones and comments, each with its first line
// number. A line that ends with a backslash continues on the next.
func logicalLines(text []byte, comments, glue string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		n, first, whole := 0, 0, ""
		for line := range strings.Lines(string(text)) {
			if n++; n > maxLines {
				return
			}
			line = strings.TrimSpace(line[:min(len(line), maxLine)])
			if whole == "" {
				if first = n; line == "" || strings.IndexByte(comments, line[0]) >= 0 {
					continue
				}
			}
			if part, more := strings.CutSuffix(line, "\\"); more && len(whole) < maxLine {
				whole += part + glue
				continue
			}
			line, whole = whole+line, ""
			if !yield(first, line) {
				return
			}
		}
	}
}

// Udev finds what udev rules set: "ATTR{mtu}=" and the commands of "RUN+=". A rule applies to the
// devices that its "KERNEL==" or "NAME==" matches.
func (f *Finder) Udev(file string, text []byte) {
	for first, line := range logicalLines(text, "#", "") {
		f.rule(at{who: "udev", file: file, line: first}, line)
	}
}

// rule parses one rule: KEY{attribute}OP"value", separated by commas.
func (f *Finder) rule(a at, line string) {
	type assign struct{ key, op, value string }
	var l []assign
	for rest := line; ; {
		before, after, ok := strings.Cut(rest, "\"")
		value, next, closed := strings.Cut(after, "\"")
		if !ok || !closed {
			break
		}
		key := strings.TrimLeft(before, ", \t")
		name := strings.TrimRight(key, "=!+:- \t")
		l = append(l, assign{name, strings.TrimSpace(key[len(name):]), value})
		rest = next
	}
	any := false
	for _, m := range l {
		if m.op != "==" {
			continue
		}
		switch m.key {
		case "SUBSYSTEM":
			if !matches(strings.Split(m.value, "|"), "net") && !matches(strings.Split(m.value, "|"), "infiniband") {
				return
			}
		case "KERNEL", "NAME", "ENV{INTERFACE}", "DRIVERS", "ATTR{address}":
			patterns := strings.Split(m.value, "|")
			ports := f.those(func(n NIC) bool {
				switch m.key {
				case "DRIVERS":
					return matches(patterns, n.Driver)
				case "ATTR{address}":
					return matches(patterns, n.MAC)
				}
				return matches(patterns, n.Name, n.RDMA)
			})
			if any {
				ports = inBoth(a.match, ports)
			}
			if a.match, any = ports, true; len(ports) == 0 {
				return
			}
		}
	}
	for _, m := range l {
		switch {
		case m.op == "=" && m.key == "ATTR{mtu}":
			f.number(a, a.match, nic.FieldMTU, m.value)
		case (m.op == "+=" || m.op == "=") && (m.key == "RUN" || m.key == "RUN{program}"):
			s := &script{Finder: f, at: a, vars: map[string][]string{}}
			s.line(m.value)
		}
	}
}

// inBoth returns the names that are in both lists.
func inBoth(a, b []string) (out []string) {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				out = append(out, x)
			}
		}
	}
	return out
}

// Interfaces finds what ifupdown sets (interfaces(5)): the "mtu" and the commands of a stanza.
func (f *Finder) Interfaces(file string, text []byte) {
	s := &script{Finder: f, at: at{who: "ifupdown", file: file}, vars: map[string][]string{}}
	n, ours := 0, false
	for line := range strings.Lines(string(text)) {
		if n++; n > maxLines {
			return
		}
		s.at.line = n
		key, value, _ := strings.Cut(strings.TrimSpace(line[:min(len(line), maxLine)]), " ")
		value = strings.TrimSpace(value)
		switch key {
		case "iface":
			name, _, _ := strings.Cut(value, " ")
			s.at.match = f.named(name)
			s.vars["IFACE"] = []string{name}
			ours = len(s.at.match) > 0
		case "mtu":
			if ours {
				f.number(s.at, s.at.match, nic.FieldMTU, value)
			}
		case "up", "pre-up", "post-up":
			s.line(value)
		}
	}
}

// IfCfg finds what a network-scripts file sets with the shell variables DEVICE, MTU and
// ETHTOOL_OPTS.
func (f *Finder) IfCfg(file string, text []byte) {
	s := &script{Finder: f, at: at{who: "network-scripts", file: file}, vars: map[string][]string{}}
	dev := strings.TrimPrefix(path.Base(file), "ifcfg-")
	for pass := range 2 {
		n := 0
		for line := range strings.Lines(string(text)) {
			if n++; n > maxLines {
				break
			}
			k, v, ok := strings.Cut(strings.TrimSpace(line[:min(len(line), maxLine)]), "=")
			if !ok {
				continue
			}
			v = strings.Trim(v, `"'`)
			s.at.line = n
			switch {
			case pass == 0 && k == "DEVICE":
				dev = v
			case pass == 1 && k == "MTU":
				if ports := f.named(dev); len(ports) > 0 {
					f.number(s.at, ports, nic.FieldMTU, v)
				}
			case pass == 1 && k == "ETHTOOL_OPTS" && strings.HasPrefix(v, "-"):
				for _, part := range strings.Split(v, ";") {
					ethtool(s.withProgram("ethtool"), strings.Fields(strings.ReplaceAll(part, "${DEVICE}", dev)))
				}
			}
		}
	}
}
