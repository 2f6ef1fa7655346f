package cumulus

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// serveSSH accepts SSH logins of users, who run nv.
func (s *Switch) serveSSH() {
	conf := func() *ssh.ServerConfig {
		c := &ssh.ServerConfig{PasswordCallback: func(m ssh.ConnMetadata, pass []byte) (*ssh.Permissions, error) {
			if cli.Same(m.User(), s.o.Username) && cli.Same(string(pass), s.o.Password) {
				return nil, nil
			}
			return nil, errors.New("permission denied")
		}}
		key := s.key
		if s.faults.on(&s.faults.badCert) {
			key = s.badKey
		}
		c.AddHostKey(key)
		return c
	}
	for {
		c, err := s.sshLn.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() { sim.ServeSSH(c, conf(), &s.wg, s.session) })
	}
}

// session runs a single command, or a shell that reads lines.
func (s *Switch) session(ch ssh.Channel, reqs <-chan *ssh.Request) {
	defer ch.Close()
	for r := range reqs {
		switch r.Type {
		case "exec":
			var cmd struct{ Line string }
			if ssh.Unmarshal(r.Payload, &cmd) != nil {
				_ = r.Reply(false, nil)
				return
			}
			_ = r.Reply(true, nil)
			status := s.run(ch, cmd.Line)
			_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(status)}))
			return
		case "shell":
			_ = r.Reply(true, nil)
			s.wg.Go(func() {
				defer ch.Close()
				in := bufio.NewScanner(ch)
				for s.prompt(ch); in.Scan(); s.prompt(ch) {
					if line := strings.TrimSpace(in.Text()); line == "exit" {
						return
					} else if line != "" {
						s.run(ch, line)
					}
				}
			})
		case "pty-req", "env", "window-change":
			_ = r.Reply(true, nil)
		default:
			_ = r.Reply(false, nil)
		}
	}
}

func (s *Switch) prompt(w io.Writer) {
	_, _ = fmt.Fprintf(w, "%s@%s:mgmt:~$ ", s.o.Username, s.o.Hostname)
}

// run executes a command line and returns its exit status.
func (s *Switch) run(w io.Writer, line string) int {
	if s.faults.hold(s.ctx) != nil {
		return 1
	}
	out, err := s.nv(strings.Fields(line))
	_, _ = io.WriteString(w, out)
	if err != nil {
		_, _ = fmt.Fprintf(w, "Error: %v\n", err)
		return 1
	}
	return 0
}

// nv executes the nv command.
func (s *Switch) nv(f []string) (string, error) {
	if len(f) < 2 || f[0] != "nv" {
		return "", fmt.Errorf("%s: command not found", strings.Join(f, " "))
	}
	f, output := option(f, "-o", "--output")
	switch {
	case f[1] == "set" || f[1] == "unset":
		return "", s.set(f)
	case f[1] == "show" && len(f) > 2:
		return s.nvShow(f[2:], output)
	case f[1] != "config" || len(f) < 3:
		return "", fmt.Errorf("invalid command %q", strings.Join(f, " "))
	}
	switch f[2] {
	case "apply":
		return s.nvApply(f[3:])
	case "save":
		s.Save()
		return "saved\n", nil
	case "show":
		f, rev := option(f[3:], "-r", "--revision")
		s.mu.Lock()
		defer s.mu.Unlock()
		if rev == "" {
			rev = "applied"
		}
		t, ok := s.named(rev, nil)
		if !ok {
			return "", fmt.Errorf("revision %s does not exist", rev)
		}
		if slices.Contains(f, "--all") {
			filled := cloned(s.defaults(t))
			merge(filled, t)
			t = filled
		}
		if !slices.Contains(f, "--expand") {
			t = compress(t)
		}
		return s.print(t, output), nil
	case "diff":
		revs := []string{"applied", s.pending}
		copy(revs, f[3:])
		s.mu.Lock()
		defer s.mu.Unlock()
		a, ok := s.named(revs[0], nil)
		b, also := s.named(revs[1], nil)
		if !ok || !also {
			return "", errors.New("revision does not exist")
		}
		return s.changes(diff(b, a), output), nil
	case "revision", "history":
		s.mu.Lock()
		defer s.mu.Unlock()
		var b strings.Builder
		fmt.Fprintf(&b, "%-20s  %-17s  %-19s  %-8s\n", "Rev ID", "State", "Apply Date", "User")
		for _, id := range natural.Keys(s.revisions) {
			r := s.revisions[id]
			fmt.Fprintf(&b, "%-20s  %-17s  %-19s  %-8s\n", id, r.state, r.applied.Format(time.DateTime), r.user)
		}
		return b.String(), nil
	case "detach":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pending = ""
		return "", nil
	}
	return "", fmt.Errorf("invalid command %q", strings.Join(f, " "))
}

// option removes an option and its value from a list of words.
func option(f []string, names ...string) (rest []string, value string) {
	for i := 0; i < len(f); i++ {
		if slices.Contains(names, f[i]) && i+1 < len(f) {
			value = f[i+1]
			i++
			continue
		}
		rest = append(rest, f[i])
	}
	return rest, value
}

// set changes the command line's pending revision.
func (s *Switch) set(f []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.faults.on(&s.faults.readOnly) {
		return errors.New("you do not have permission to execute that command")
	}
	r := s.revisions[s.pending]
	if r == nil || r.state != "pending" {
		r = s.create(s.o.Username)
		s.pending = r.id
	}
	return s.typed(r.tree, f)
}

// typed applies one "nv set" or "nv unset" to a configuration.
func (s *Switch) typed(t tree, f []string) error {
	if len(f) < 3 || f[0] != "nv" || f[1] != "set" && f[1] != "unset" {
		return errors.New("only nv set and nv unset are supported")
	}
	path := f[2:]
	if f[1] == "unset" {
		full := expandPath(path)
		found := false
		for _, p := range full {
			if remove(t, p) {
				found = true
				if !s.o.Hollow {
					prune(t, p)
				}
			}
		}
		if !found {
			return errors.New("the requested item does not exist")
		}
		return nil
	}
	// The last word is a value if the model says so; otherwise it is a key.
	var last error
	for _, patch := range []any{under(value(path[len(path)-1]), path[:len(path)-1]...), under(tree{}, path...)} {
		m, ok := patch.(tree)
		if _, object := m[path[0]].(tree); !ok || !object { // the top level has no values
			continue
		}
		m, _ = expand(m).(tree)
		if bad := s.check(m); bad != "" {
			last = errors.New(bad)
			continue
		}
		merge(t, m)
		types(t, m)
		return nil
	}
	return last
}

// expandPath returns one path for each combination of the items in its ranges.
func expandPath(path []string) (out [][]string) {
	m, _ := expand(under(tree{}, path...)).(tree)
	leaves(m, nil, func(p []string, _ any) { out = append(out, slices.Clone(p)) })
	return out
}

// value returns a word as a JSON value.
func value(word string) any {
	if n, err := strconv.ParseFloat(word, 64); err == nil {
		return n
	}
	return word
}

// print returns a configuration as printed by "nv config show".
func (s *Switch) print(t tree, output string) string {
	header := tree{"model": s.o.Model, "nvue-api-version": "nvue_v1", "rev-id": 1.0, "version": "Cumulus Linux " + s.o.Version}
	switch output {
	case "json":
		b, _ := json.MarshalIndent([]any{tree{"header": header}, tree{"set": t}}, "", "  ") // cannot fail: only objects, strings and numbers
		return string(b) + "\n"
	case "commands":
		return s.commands("set", t)
	}
	var b strings.Builder
	b.WriteString("- header:\n")
	yaml(&b, header, "    ")
	b.WriteString("- set:\n")
	yaml(&b, t, "    ")
	return b.String()
}

// changes returns a difference as printed by "nv config diff".
func (s *Switch) changes(d tree, output string) string {
	set, unset := tree{}, tree{}
	leaves(d, nil, func(p []string, v any) {
		if v == nil {
			merge(unset, under(tree{}, p...).(tree))
		} else {
			merge(set, under(v, p...).(tree))
		}
	})
	if output == "commands" {
		return s.commands("unset", unset) + s.commands("set", set)
	}
	var b strings.Builder
	for _, part := range []struct {
		name string
		t    tree
	}{{"unset", unset}, {"set", set}} {
		if len(part.t) > 0 {
			b.WriteString("- " + part.name + ":\n")
			yaml(&b, part.t, "    ")
		}
	}
	return b.String()
}

func (s *Switch) commands(verb string, t tree) string {
	var b strings.Builder
	leaves(t, nil, func(p []string, v any) {
		b.WriteString("nv " + verb + " " + strings.Join(p, " "))
		if word := spell(v); word != "" {
			b.WriteString(" " + word)
		}
		b.WriteByte('\n')
	})
	return b.String()
}

// yaml prints an object. It quotes keys that are numbers, and words that YAML would not read as
// strings.
func yaml(b *strings.Builder, t tree, indent string) {
	for _, k := range natural.Keys(t) {
		name := k
		if _, err := strconv.ParseFloat(k, 64); err == nil {
			name = "'" + k + "'"
		}
		switch v := t[k].(type) {
		case tree:
			if len(v) == 0 {
				b.WriteString(indent + name + ": {}\n")
				continue
			}
			b.WriteString(indent + name + ":\n")
			yaml(b, v, indent+"  ")
		default:
			b.WriteString(indent + name + ": " + spell(v) + "\n")
		}
	}
}

// nvShow executes "nv show" for a part of the model.
func (s *Switch) nvShow(f []string, output string) (string, error) {
	f, rev := option(f, "--rev")
	for _, word := range []string{"applied", "startup", "operational"} {
		if i := slices.Index(f, "--"+word); i >= 0 {
			f, rev = slices.Delete(f, i, i+1), word
		}
	}
	far := s.far()
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.named(rev, far)
	if !ok {
		return "", fmt.Errorf("revision %s does not exist", rev)
	}
	v, ok := at(t, f...)
	if !ok {
		return "", errors.New("the requested item does not exist")
	}
	if output != "json" {
		m, ok := v.(tree)
		if !ok {
			return spell(v) + "\n", nil
		}
		var b strings.Builder
		yaml(&b, m, "")
		return b.String(), nil
	}
	b, _ := json.MarshalIndent(v, "", "  ") // cannot fail: only objects, strings and numbers
	return string(b) + "\n", nil
}

// nvApply executes "nv config apply [revision] [options]".
func (s *Switch) nvApply(f []string) (string, error) {
	rev, minutes, answers := "", 0, map[string]string{}
	confirm := ""
	for i := 0; i < len(f); i++ {
		switch word := f[i]; word {
		case "-y", "--y", "--assume-yes":
			answers["ays"], answers["ignore_fail"] = "ays_yes", "ignore_fail_yes"
		case "--assume-no":
			answers["ays"], answers["ignore_fail"] = "ays_no", "ignore_fail_no"
		case "--confirm":
			minutes = 10
			if i+1 < len(f) {
				if n, err := strconv.Atoi(strings.TrimSuffix(f[i+1], "m")); err == nil {
					minutes = n
					i++
				}
			}
		case "--confirm-yes", "--confirm-no":
			confirm = "confirm_" + strings.TrimPrefix(word, "--confirm-")
		case "--confirm-status":
			s.mu.Lock()
			defer s.mu.Unlock()
			if r := s.busy(); r != nil && r.state == "confirm" {
				left := time.Until(r.applied.Add(time.Duration(float64(r.confirm) * s.o.Clock)))
				return fmt.Sprintf("time remaining: %s [rev_id: %s]\n", left.Round(time.Second), r.id), nil
			}
			return "no pending confirm\n", nil
		case "-m", "--message":
			i++
		default:
			rev = word
		}
	}
	if rev == "" {
		rev = s.pending
	}
	s.mu.Lock()
	s.writes++
	if s.faults.on(&s.faults.readOnly) {
		s.mu.Unlock()
		return "", errors.New("you do not have permission to execute that command")
	}
	r := s.revisions[rev]
	if confirm != "" {
		if busy := s.busy(); rev == "" && busy != nil {
			r = busy
		}
		if r == nil || r.state != "confirm" {
			s.mu.Unlock()
			return "", errors.New("no revision waits for a confirmation")
		}
		s.reply(r, confirm)
	} else {
		if r == nil {
			s.mu.Unlock()
			return "", errors.New("no pending revision")
		}
		if rev == s.pending {
			s.pending = ""
		}
		r.auto, r.confirm = answers, time.Duration(minutes)*time.Minute
		s.start(r, nil)
	}
	s.mu.Unlock()
	if err := s.awaitRevision(r); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(r.issues) > 0 {
		return "", fmt.Errorf("%s: %s [rev_id: %s]", r.state, r.issues[0].reason, r.id)
	}
	return fmt.Sprintf("%s [rev_id: %s]\n", r.state, r.id), nil
}

// awaitRevision waits until a revision is in a final state or waits for confirmation.
func (s *Switch) awaitRevision(r *revision) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		s.mu.Lock()
		rest := r.final() || r.state == "confirm"
		s.mu.Unlock()
		if rest {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return errors.New("the switch is going down")
		}
	}
}
