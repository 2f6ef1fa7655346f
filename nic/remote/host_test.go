package remote_test

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/skeema/knownhosts"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/remote"
)

func open(t *testing.T, l *lab, o remote.Options) *remote.Host {
	t.Helper()
	o.Dynamic = true // the test program may be dynamically linked
	h, err := remote.Open(t.Context(), l.config, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func desired() *nic.Host {
	p := &nic.Port{Name: ens, DCBX: qos.Of(nic.OwnerHost), PFC: qos.Of(qos.Priorities(3)), ToS: qos.Of(106), MTU: qos.Of(9000)}
	return &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{ens: p}}
}

func TestHost(t *testing.T) {
	l := newLab(t)
	// Text printed by the login shell must do no harm.
	l.put(t, filepath.Join(l.home, ".bashrc"), "echo Welcome; echo 'roce-fabric|x'\n")
	h := open(t, l, remote.Options{})
	ctx := t.Context()
	if h.Peer.String() != "127.0.0.1" {
		t.Errorf("the host is reached from %s", h.Peer)
	}
	here, err := l.Machine().Read(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	there, err := h.Read(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(here, there, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("on the host (-), from afar (+):\n%s", d)
	}
	steps, err := h.Plan(ctx, there, desired(), local.Options{})
	if err != nil || len(steps) < 3 {
		t.Fatalf("%v %v", steps, err)
	}
	var told []string
	u, err := h.Apply(ctx, steps, func(i, n int, s local.Step) { told = append(told, fmt.Sprintf("%d/%d %s", i, n, s.Field)) })
	if err != nil || len(told) != len(steps) || told[0] != fmt.Sprintf("0/%d %s", len(steps), steps[0].Field) {
		t.Errorf("told of %v, %v", told, err)
	}
	after, err := h.Read(ctx, []string{ens})
	if err != nil {
		t.Fatal(err)
	}
	if steps, err := h.Plan(ctx, after, desired(), local.Options{}); err != nil || len(steps) > 0 || len(l.Writes()) == 0 {
		t.Errorf("left to do after apply: %v, %v", steps, err)
	}
	if err := h.Counters(ctx, after); err != nil || after.Ports[ens].Counters == nil || after.Ports[ens].Counters.Priority[3].RxBytes != 4096 {
		t.Errorf("counters %+v, %v", after.Ports[ens].Counters, err)
	}
	if err := h.Revert(ctx, u); err != nil {
		t.Error(err)
	}
	if back, err := l.Machine().Read(ctx, nil); err != nil || back.Ports[ens].MTU.V != 1500 || back.Ports[ens].PFC.V != 0 {
		t.Errorf("reverted: %+v, %v", back.Ports[ens], err)
	}
}

func TestProgramIsCopiedOnce(t *testing.T) {
	l := newLab(t)
	program := l.program(t)
	only := []string{filepath.Base(program)}
	look := func(when string) os.FileInfo {
		t.Helper()
		st, err := os.Stat(program)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.cached(t); !slices.Equal(got, only) || st.Mode() != 0o700 || digestOf(t, program) != only[0] {
			t.Errorf("%s: the host has %v, mode %s, digest %s", when, got, st.Mode(), digestOf(t, program))
		}
		return st
	}
	if err := open(t, l, remote.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	first := look("copied")
	open(t, l, remote.Options{})
	if !os.SameFile(first, look("used again")) {
		t.Error("the program was copied again")
	}

	whole, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string][]byte{"cut off": whole[:1000], "other bytes": append(slices.Clone(whole), 'x'), "empty": nil} {
		if err := os.WriteFile(program, wrong, 0o777); err != nil {
			t.Fatal(err)
		}
		h := open(t, l, remote.Options{})
		look(name)
		if _, err := h.Read(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(program, 0o666); err != nil {
		t.Fatal(err)
	}
	open(t, l, remote.Options{})
	look("open to others")
}

func TestProgramDoesNotArrive(t *testing.T) {
	for _, c := range []struct{ name, tool, script, text string }{
		{"damaged on the way", "cat", "exec /usr/bin/head -c 1000", "the copy differs from the program"},
		{"full disk", "cat", "echo 'cat: write error: No space left on device' >&2; exit 1", "No space left on device"},
		{"wrong sum", "sha256sum", "echo 0000 -", "its digest there is 0000"},
		{"no sum", "sha256sum", "echo 'sha256sum: not found' >&2; exit 127", "sha256sum: not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			tool := filepath.Join(l.bin, c.tool)
			if err := os.Remove(tool); err != nil {
				t.Fatal(err)
			}
			l.put(t, tool, "#!/bin/sh\n"+c.script+"\n")
			_, err := remote.Open(t.Context(), l.config, remote.Options{Dynamic: true})
			if !errors.Is(err, remote.ErrCopy) || !strings.Contains(err.Error(), c.text) || !strings.HasPrefix(err.Error(), l.config.Address) {
				t.Errorf("%v", err)
			}
			if got := l.cached(t); len(got) > 0 {
				t.Errorf("left behind: %v", got)
			}
		})
	}
}

func TestHostCannotRunIt(t *testing.T) {
	for _, c := range []struct {
		name, uname string
		kind        error
		text        string
	}{
		{"another processor", `case $1 in -s) echo Linux;; *) echo s390x;; esac`, remote.ErrArch, "it is s390x, and "},
		{"an unknown processor", `case $1 in -s) echo Linux;; *) echo vax;; esac`, remote.ErrArch, "processor vax is not known"},
		{"another system", `echo FreeBSD`, remote.ErrArch, "it runs FreeBSD"},
		{"no answer", `exit 1`, nil, "cannot determine the host's operating system"},
		{"hostile", `printf '\033[2J|a|b\n'`, nil, "cannot determine the host's operating system"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			uname := filepath.Join(l.bin, "uname")
			if err := os.Remove(uname); err != nil {
				t.Fatal(err)
			}
			l.put(t, uname, "#!/bin/sh\n"+c.uname+"\n")
			_, err := remote.Open(t.Context(), l.config, remote.Options{Dynamic: true})
			var h interface{ Hint() string }
			if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || strings.ContainsAny(err.Error(), "\n\x1b") || !errors.As(err, &h) || h.Hint() == "" {
				t.Errorf("%v", err)
			}
			if got := l.cached(t); len(got) > 0 {
				t.Errorf("copied: %v", got)
			}
		})
	}
}

func TestChangedHostKey(t *testing.T) {
	l := newLab(t)
	other := newKey(t, filepath.Join(t.TempDir(), "other"))
	l.put(t, l.config.KnownHosts, knownhosts.Line([]string{l.config.Address}, other)+"\n")
	_, err := remote.Open(t.Context(), l.config, remote.Options{Dynamic: true})
	if !errors.Is(err, ssh.ErrHostKeyChanged) || len(l.cached(t)) > 0 {
		t.Errorf("%v", err)
	}
	l.put(t, l.config.KnownHosts, "")
	if _, err = remote.Open(t.Context(), l.config, remote.Options{Dynamic: true}); !errors.Is(err, ssh.ErrHostKeyUnknown) {
		t.Errorf("%v", err)
	}
}

func TestOptions(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    remote.Options
		kind error
	}{
		{remote.Options{Sudo: "doas"}, remote.ErrOptions},
		{remote.Options{Sudo: remote.SudoPassword}, remote.ErrOptions},
		{remote.Options{Password: password}, remote.ErrOptions},
		{remote.Options{Sudo: remote.SudoPassword, Password: password + "\nid"}, remote.ErrOptions},
		{remote.Options{Binary: script}, remote.ErrBinary},
		{remote.Options{Binary: t.TempDir()}, remote.ErrBinary},
		{remote.Options{Binary: script + "x"}, remote.ErrBinary},
	} {
		_, err := remote.Open(t.Context(), unused(t, false), c.o)
		if !errors.Is(err, c.kind) || strings.Contains(err.Error(), password) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

// unused returns the configuration of a connection that fails, or that must not be attempted.
func unused(t *testing.T, attempted bool) ssh.Config {
	return ssh.Config{Address: "192.0.2.1:22", User: "admin", Password: "x", Dial: func(context.Context, string, string) (net.Conn, error) {
		if !attempted {
			t.Error("a connection is attempted")
		}
		return nil, syscall.ECONNREFUSED
	}}
}

// program returns a file that the kernel starts with a loader; "" makes it static.
func program(t *testing.T, loader string) string {
	t.Helper()
	h := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	p := elf.Prog64{Type: uint32(elf.PT_LOAD), Off: 120, Filesz: uint64(len(loader))}
	if loader != "" {
		p.Type = uint32(elf.PT_INTERP)
	}
	var b bytes.Buffer
	for _, v := range []any{h, p, []byte(loader)} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, b.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// A program that depends on its own machine's libraries, as go build makes with cgo, is rejected
// before anything is sent, and the error says what it needs.
func TestDynamicProgram(t *testing.T) {
	for _, c := range []struct {
		o    remote.Options
		says string // "" if a connection is attempted
	}{
		{remote.Options{Binary: program(t, "/lib64/ld-linux-x86-64.so.2\x00")}, "is not linked statically, it needs /lib64/ld-linux-x86-64.so.2"},
		{remote.Options{Binary: program(t, "\x1b[2J")}, "is not linked statically, it needs "},
		{remote.Options{Binary: program(t, "\x00")}, "a loader without a name"},
		{remote.Options{Binary: program(t, "/lib/ld.so\x00"), Dynamic: true}, ""},
		{remote.Options{Binary: program(t, "")}, ""},
	} {
		_, err := remote.Open(t.Context(), unused(t, c.says == ""), c.o)
		if got := errors.Is(err, remote.ErrBinary); err == nil || got != (c.says != "") || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%+v: %v", c.o, err)
		}
		var h interface{ Hint() string }
		if c.says != "" && (!errors.As(err, &h) || !strings.Contains(h.Hint(), "CGO_ENABLED=0")) {
			t.Errorf("%v: the hint is %v", err, h)
		}
	}
}

func TestAgentFails(t *testing.T) {
	l := newLab(t)
	h := open(t, l, remote.Options{})
	for mode, want := range map[string]struct {
		kind error
		text string
	}{
		"crash":      {agent.ErrStart, "exit status 2: "},
		"crash late": {agent.ErrEnded, "exit status 137: killed"},
		"garbage":    {agent.ErrAnswer, "no hello"},
	} {
		l.put(t, l.mode, mode)
		_, err := h.Read(t.Context(), nil)
		if !errors.Is(err, want.kind) || !strings.Contains(err.Error(), want.text) || len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: %v", mode, err)
		}
		if mode == "crash" && !strings.Contains(err.Error(), "out of luck") {
			t.Errorf("%s does not say why: %v", mode, err)
		}
	}
	l.put(t, l.mode, "")
	if err := os.Remove(l.program(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Read(t.Context(), nil); !errors.Is(err, agent.ErrStart) || !strings.Contains(err.Error(), "exit status 127") && !strings.Contains(err.Error(), "exit status 126") {
		t.Errorf("the program was taken away: %v", err)
	}
}

func TestCancel(t *testing.T) {
	l := newLab(t)
	h := open(t, l, remote.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l.mu.Lock()
	l.hold = cancel
	l.mu.Unlock()
	if _, err := h.Read(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	l.mu.Lock()
	l.hold = nil
	l.mu.Unlock()
	// The connection still works.
	if _, err := h.Read(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Read(t.Context(), nil); !errors.Is(err, ssh.ErrLost) {
		t.Errorf("after Close: %v", err)
	}
}
