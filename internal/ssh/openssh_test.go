package ssh

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/scrapli/scrapligo/driver/generic"
	"github.com/scrapli/scrapligo/driver/options"
	xssh "golang.org/x/crypto/ssh"
)

var (
	promptPattern = regexp.MustCompile(`(?m)^leaf1#\s?$`)
	neverPattern  = regexp.MustCompile(`(?m)^never-this$`)
)

// sshd starts OpenSSH's server on loopback. It returns a configuration that logs in by key, and
// the host key.
func sshd(t *testing.T) (Config, xssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	bin := "/usr/sbin/sshd"
	if _, err := os.Stat(bin); err != nil {
		t.Skip("no /usr/sbin/sshd")
	}
	dir := t.TempDir()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if me.Uid == "0" {
		// The server requires its privilege separation directory.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skip("cannot make /run/sshd: " + err.Error())
		}
	}
	host, hostKey := ed25519Key(t)
	hostFile := keyFile(t, hostKey, "", 0o600)
	login, loginKey := ed25519Key(t)
	authorized := filepath.Join(dir, "authorized_keys")
	if err := os.WriteFile(authorized, xssh.MarshalAuthorizedKey(login.PublicKey()), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	conf := filepath.Join(dir, "sshd_config")
	text := fmt.Sprintf("ListenAddress 127.0.0.1\nPort %s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\nStrictModes no\n"+
		"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nAllowTcpForwarding yes\nSetEnv HOME=%s\n", port, hostFile, authorized, dir)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-D", "-e", "-f", conf)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("cannot start sshd: " + err.Error())
	}
	ready, drained := make(chan bool, 1), make(chan string, 1)
	go func() {
		var all strings.Builder
		for sc := bufio.NewScanner(log); sc.Scan(); {
			fmt.Fprintln(&all, sc.Text())
			if strings.Contains(sc.Text(), "Server listening") {
				ready <- true
			}
		}
		close(ready)
		drained <- all.String()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		// Wait closes the pipe, which sessions may keep open for longer.
		_ = cmd.Wait()
		out := <-drained
		if t.Failed() {
			t.Log(out)
		}
	})
	select {
	case ok := <-ready:
		if !ok {
			t.Fatal("sshd ended at once")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("sshd does not listen")
	}
	return Config{
		Address: addr, User: me.Username, KeyFile: keyFile(t, loginKey, "", 0o600),
		KnownHosts: hostsFile(t, addr, host), Timeout: 20 * time.Second,
	}, host, loginKey
}

func TestOpenSSH(t *testing.T) {
	cfg, _, key := sshd(t)
	c := dial(t, cfg)
	t.Run("command", func(t *testing.T) {
		r, err := c.Run(t.Context(), "cat; echo to-stderr >&2; exit 5", []byte("from stdin"))
		if err != nil || string(r.Stdout) != "from stdin" || string(r.Stderr) != "to-stderr\n" || r.Status != 5 {
			t.Errorf("%+v %v", r, err)
		}
	})
	t.Run("signal", func(t *testing.T) {
		r, err := c.Run(t.Context(), "kill -TERM $$", nil)
		if err != nil || r.Status != 128+15 {
			t.Errorf("%+v %v", r, err)
		}
	})
	t.Run("unread input", func(t *testing.T) {
		r, err := c.Run(t.Context(), "exit 0", make([]byte, 4<<20))
		if err != nil || r.Status != 0 {
			t.Errorf("status %d, %v", r.Status, err)
		}
	})
	t.Run("many", func(t *testing.T) {
		for range 20 {
			if _, err := c.Run(t.Context(), "true", nil); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("timeout", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := c.Run(ctx, "sleep 5", nil)
		want(t, err, ErrTimeout, cfg.Address)
	})
	t.Run("bounded", func(t *testing.T) {
		small := cfg
		small.MaxOutput = 1 << 20
		r, err := dial(t, small).Run(t.Context(), "yes", nil)
		if want(t, err, ErrTooLarge, cfg.Address); len(r.Stdout) != 1<<20 {
			t.Errorf("kept %d bytes", len(r.Stdout))
		}
	})
	t.Run("changed host key", func(t *testing.T) {
		other, _ := ed25519Key(t)
		bad := cfg
		bad.KnownHosts = hostsFile(t, cfg.Address, other)
		_, err := Dial(t.Context(), bad)
		want(t, err, ErrHostKeyChanged, cfg.Address)
	})
	t.Run("wrong key", func(t *testing.T) {
		_, other := ed25519Key(t)
		bad := cfg
		bad.KeyFile = keyFile(t, other, "", 0o600)
		_, err := Dial(t.Context(), bad)
		want(t, err, ErrAuth, cfg.Address)
	})
	t.Run("agent", func(t *testing.T) {
		byAgent := cfg
		byAgent.KeyFile, byAgent.Agent, byAgent.AgentSocket = "", true, agentWith(t, key)
		if r, err := dial(t, byAgent).Run(t.Context(), "echo $SSH_AUTH_SOCK", nil); err != nil || string(r.Stdout) != "\n" {
			t.Errorf("agent forwarded, or %v: %q", err, r.Stdout)
		}
	})
	t.Run("keys of ssh-keygen", func(t *testing.T) {
		keygen, err := exec.LookPath("ssh-keygen")
		if err != nil {
			t.Skip("no ssh-keygen")
		}
		for _, c := range []struct {
			pass string
			kind error
		}{{"", ErrAuth}, {"secret", errConfig}} {
			p := filepath.Join(t.TempDir(), "id")
			if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", c.pass, "-f", p).CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			bad := cfg
			bad.KeyFile = p
			if _, err := Dial(t.Context(), bad); !errors.Is(err, c.kind) {
				t.Errorf("passphrase %q: %v", c.pass, err)
			}
		}
	})
	t.Run("through itself", func(t *testing.T) {
		hop := cfg
		hop.Jump = cfg.User + "@" + cfg.Address
		if r, err := dial(t, hop).Run(t.Context(), "echo hop", nil); err != nil || string(r.Stdout) != "hop\n" {
			t.Errorf("%q %v", r.Stdout, err)
		}
	})
	t.Run("many commands at once", func(t *testing.T) {
		errs := make(chan error)
		for range 30 {
			go func() { _, err := c.Run(t.Context(), "sleep 0.05", nil); errs <- err }()
		}
		for range 30 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestOpenSSHShell(t *testing.T) {
	cfg, _, _ := sshd(t)
	c := dial(t, cfg)
	// The prompts of common login shells end like this.
	s, err := c.shell(t.Context(), regexp.MustCompile(`(?m)^.*[#$] ?$`))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.send(t.Context(), "exec bash --norc --noprofile"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.send(t.Context(), "V=kept"); err != nil {
		t.Fatal(err)
	}
	long := "echo " + strings.Repeat("0123456789", 20) + "-$V"
	for line, wanted := range map[string]string{
		"echo $V $((40+2))": "kept 42",
		"seq 3":             "1\n2\n3",
		long:                strings.Repeat("0123456789", 20) + "-kept",
	} {
		if out, err := s.send(t.Context(), line); err != nil || out != wanted {
			t.Errorf("%.40s: %q %v", line, out, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = s.send(ctx, "sleep 5")
	want(t, err, ErrTimeout, cfg.Address)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if r, err := c.Run(t.Context(), "echo on", nil); err != nil || string(r.Stdout) != "on\n" {
		t.Errorf("after the shell: %q %v", r.Stdout, err)
	}
}

// TestTransport uses the transport in one of scrapligo's own drivers.
func TestTransport(t *testing.T) {
	cfg, _, _ := sshd(t)
	c := dial(t, cfg)
	tr := c.pty(t.Context())
	if tr.IsAlive() {
		t.Error("alive before Open")
	}
	d, err := generic.NewDriver(cfg.Address, options.WithCustomTransport(tr), options.WithTermWidth(termWidth),
		options.WithPromptPattern(regexp.MustCompile(`(?m)^.*[#$] ?$`)), options.WithTimeoutOps(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Open(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Channel.ReadUntilPrompt(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := d.SendCommand("echo one $((1+1))")
	if err != nil || r.Result != "one 2" {
		t.Errorf("%+v %v", r, err)
	}
	if !tr.IsAlive() {
		t.Error("not alive")
	}
	if err := d.Close(); err != nil || tr.IsAlive() {
		t.Errorf("Close: %v, alive %v", err, tr.IsAlive())
	}
}
