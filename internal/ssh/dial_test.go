package ssh

import (
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeema/knownhosts"
	xssh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

func keyFile(t testing.TB, k ed25519.PrivateKey, passphrase string, mode os.FileMode) string {
	t.Helper()
	var block *pem.Block
	var err error
	if passphrase == "" {
		block, err = xssh.MarshalPrivateKey(k, "")
	} else {
		block, err = xssh.MarshalPrivateKeyWithPassphrase(k, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(p, pem.EncodeToMemory(block), mode); err != nil {
		t.Fatal(err)
	}
	return p
}

// agentWith serves an ssh-agent that holds the keys, and returns its socket.
func agentWith(t testing.TB, keys ...ed25519.PrivateKey) string {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		if err := ring.Add(agent.AddedKey{PrivateKey: k}); err != nil {
			t.Fatal(err)
		}
	}
	sock := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = agent.ServeAgent(ring, c)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return sock
}

func TestLogin(t *testing.T) {
	signer, key := ed25519Key(t)
	_, other := ed25519Key(t)
	byPassword := deviceOptions{}
	byQuestion := deviceOptions{question: true}
	byEcho := deviceOptions{question: true, echoed: true}
	byKey := deviceOptions{authKey: signer.PublicKey()}
	for _, c := range []struct {
		name string
		o    deviceOptions
		edit func(*Config)
		kind error
		hint string
	}{
		{"password", byPassword, func(*Config) {}, nil, ""},
		{"wrong password", byPassword, func(c *Config) { c.Password = "wrong" }, ErrAuth, ""},
		{"wrong user", byPassword, func(c *Config) { c.User = "nobody" }, ErrAuth, ""},
		{"question", byQuestion, func(*Config) {}, nil, ""},
		{"question, wrong password", byQuestion, func(c *Config) { c.Password = "wrong" }, ErrAuth, ""},
		{"echoed question gets no password", byEcho, func(*Config) {}, ErrAuth, ""},
		{"key", byKey, func(c *Config) { c.Password, c.KeyFile = "", keyFile(t, key, "", 0o600) }, nil, ""},
		{"key open to others", byKey, func(c *Config) { c.KeyFile = keyFile(t, key, "", 0o644) }, errConfig, "chmod 600"},
		{"encrypted key", byKey, func(c *Config) { c.KeyFile = keyFile(t, key, "secret", 0o600) }, errConfig, "ssh-agent"},
		{"wrong key", byKey, func(c *Config) { c.KeyFile = keyFile(t, other, "", 0o600) }, ErrAuth, ""},
		{"password where a key is wanted", byKey, func(*Config) {}, ErrAuth, ""},
		{"agent", byKey, func(c *Config) { c.Password, c.Agent, c.AgentSocket = "", true, agentWith(t, other, key) }, nil, ""},
		{"agent by environment", byKey, func(c *Config) {
			c.Password, c.Agent = "", true
			t.Setenv("SSH_AUTH_SOCK", agentWith(t, key))
		}, nil, ""},
		{"wrong key, then agent", byKey, func(c *Config) {
			c.KeyFile, c.Agent, c.AgentSocket = keyFile(t, other, "", 0o600), true, agentWith(t, key)
		}, nil, ""},
		{"empty agent", byKey, func(c *Config) { c.Agent, c.AgentSocket = true, agentWith(t) }, ErrAuth, ""},
		{"no agent", byKey, func(c *Config) { c.Agent, c.AgentSocket = true, filepath.Join(t.TempDir(), "none") }, errConfig, ""},
		{"agent unset", byKey, func(c *Config) { t.Setenv("SSH_AUTH_SOCK", ""); c.Agent = true }, errConfig, ""},
		{"nothing", byPassword, func(c *Config) { c.Password = "" }, errConfig, ""},
		{"no user", byPassword, func(c *Config) { c.User = "" }, errConfig, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{User: testUser, Password: testPass, Timeout: 10 * time.Second}
			c.edit(&cfg)
			check := func(t *testing.T) {
				d := newDevice(t, c.o)
				cfg.Address, cfg.KnownHosts, cfg.Dial = d.addr, d.hosts, d.config().Dial
				cl, err := Dial(t.Context(), cfg)
				if c.kind != nil {
					place := d.addr
					if strings.Contains(c.name, "key") && c.kind == errConfig {
						place = cfg.KeyFile
					}
					if e := want(t, err, c.kind, place); !strings.Contains(e.Hint(), c.hint) {
						t.Errorf("error %q, hint %q", err, e.Hint())
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if s := fmt.Sprintf("%+v %#v", cl, cl); strings.Contains(s, testPass) {
					t.Error("a print shows the password")
				}
				if err := cl.Close(); err != nil {
					t.Error(err)
				}
			}
			if cfg.Agent {
				check(t) // the agent's socket is a real one: no time would pass in a bubble
			} else {
				synctest.Test(t, check)
			}
		})
	}
}

func TestHostKeys(t *testing.T) {
	ed, _ := ed25519Key(t)
	ec := ecdsaKey(t)
	const addr = "127.0.0.1:2222"
	both := deviceOptions{address: addr, keys: []xssh.Signer{ec, ed}}
	other, _ := ed25519Key(t)
	otherEC := ecdsaKey(t)
	print := func(s xssh.Signer) string { return xssh.FingerprintSHA256(s.PublicKey()) }
	wild := filepath.Join(t.TempDir(), "wild")
	if err := os.WriteFile(wild, []byte("127.0.0.* "+strings.SplitN(knownhosts.Line([]string{"x"}, ed.PublicKey()), " ", 2)[1]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	revoked := filepath.Join(t.TempDir(), "revoked")
	line := knownhosts.Line([]string{addr}, ed.PublicKey())
	if err := os.WriteFile(revoked, []byte("@revoked "+line+"\n"+line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		hosts string
		kind  error
		text  string
	}{
		{"only the first of two keys known", hostsFile(t, addr, ec), nil, ""},
		{"only the second of two keys known", hostsFile(t, addr, ed), nil, ""},
		{"both known", hostsFile(t, addr, ec, ed), nil, ""},
		{"wildcard", wild, nil, ""},
		{"unknown host", hostsFile(t, "192.0.2.1:22", ed), ErrHostKeyUnknown, "SHA256:"},
		{"no file", filepath.Join(t.TempDir(), "absent"), ErrHostKeyUnknown, "SHA256:"},
		{"changed", hostsFile(t, addr, other), ErrHostKeyChanged, print(ed)},
		{"changed, names the old one", hostsFile(t, addr, other), ErrHostKeyChanged, print(other)},
		{"one right, one changed", hostsFile(t, addr, other, ec), ErrHostKeyChanged, print(ed)},
		{"changed in both kinds", hostsFile(t, addr, other, otherEC), ErrHostKeyChanged, print(other)},
		{"revoked", revoked, ErrHostKeyChanged, "revoked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := newDevice(t, both).config()
				cfg.KnownHosts = c.hosts
				cl, err := Dial(t.Context(), cfg)
				if c.kind == nil {
					if err != nil {
						t.Fatal(err)
					}
					if err := cl.Close(); err != nil {
						t.Error(err)
					}
					return
				}
				if want(t, err, c.kind, addr); !strings.Contains(err.Error(), c.text) {
					t.Errorf("error %q lacks %q", err, c.text)
				}
			})
		})
	}
	t.Run("kind of key that the host no longer has", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			only := newDevice(t, deviceOptions{keys: []xssh.Signer{ec}})
			cfg := only.config()
			cfg.KnownHosts = hostsFile(t, only.addr, ed)
			_, err := Dial(t.Context(), cfg)
			if want(t, err, ErrHostKeyChanged, only.addr); !strings.Contains(err.Error(), print(ec)) {
				t.Errorf("error %q", err)
			}
		})
	})
	t.Run("the hint makes the host known", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			cfg := newDevice(t, both).config()
			cfg.KnownHosts = filepath.Join(t.TempDir(), "known_hosts")
			_, err := Dial(t.Context(), cfg)
			hint := want(t, err, ErrHostKeyUnknown, addr).Hint()
			_, line, ok := strings.Cut(hint, cfg.KnownHosts+": ")
			if !ok {
				t.Fatalf("hint %q", hint)
			}
			if err := os.WriteFile(cfg.KnownHosts, []byte(line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			dial(t, cfg)
		})
	})
	t.Run("shared", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newDevice(t, both)
			hosts, err := LoadKnownHosts(d.hosts)
			if err != nil {
				t.Fatal(err)
			}
			cfg := d.config()
			cfg.KnownHosts, cfg.Hosts = "/nonexistent", hosts
			dial(t, cfg)
		})
	})
	t.Run("unreadable", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			cfg := newDevice(t, both).config()
			cfg.KnownHosts = filepath.Join(t.TempDir(), "junk")
			if err := os.WriteFile(cfg.KnownHosts, []byte("host ssh-ed25519 junk\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Dial(t.Context(), cfg)
			want(t, err, errConfig, cfg.KnownHosts)
		})
	})
}

func TestUnreachable(t *testing.T) {
	t.Run("nobody listens", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const dead = "192.0.2.1:22"
			cfg := newDevice(t, deviceOptions{}).config()
			cfg.Address = dead
			_, err := Dial(t.Context(), cfg)
			want(t, err, ErrUnreachable, dead)
		})
	})
	for name, before := range map[string]func(net.Conn) bool{
		"hangs up":    func(net.Conn) bool { return false },
		"no SSH":      func(c net.Conn) bool { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")); return false },
		"half banner": func(c net.Conn) bool { _, _ = c.Write([]byte("SSH-2.0-x\r\n")); return false },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice(t, deviceOptions{beforeSSH: before})
				_, err := Dial(t.Context(), d.config())
				want(t, err, ErrUnreachable, d.addr)
			})
		})
	}
}

// TestSilentDevice stops the handshake where a device may hang: before the banner, after it, and
// while it checks the login.
func TestSilentDevice(t *testing.T) {
	for name, before := range map[string]func(net.Conn) bool{
		"no banner": func(c net.Conn) bool { _, _ = io.Copy(io.Discard, c); return false },
		"banner only": func(c net.Conn) bool {
			_, _ = c.Write([]byte("SSH-2.0-x\r\n"))
			_, _ = io.Copy(io.Discard, c)
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice(t, deviceOptions{beforeSSH: before})
				cfg := d.config()
				_, err := Dial(t.Context(), cfg)
				if want(t, err, ErrTimeout, d.addr); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(cfg.Timeout-time.Second, cancel)
				_, err = Dial(ctx, cfg)
				if !errors.Is(err, context.Canceled) || errors.Is(err, ErrTimeout) {
					t.Errorf("cancelled: %v", err)
				}
			})
		})
	}
}

func TestJump(t *testing.T) {
	// behind starts a device, and returns it with the jump host and a Config that reaches it.
	behind := func(t *testing.T, o deviceOptions) (d, jump *device, cfg Config) {
		o.network = memnet.New(1)
		d, jump = newDevice(t, o), newDevice(t, deviceOptions{forward: true, network: o.network})
		cfg = d.config()
		cfg.Jump, cfg.KnownHosts = testUser+"@"+jump.addr, joined(t, d.hosts, jump.hosts)
		return d, jump, cfg
	}
	t.Run("command", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, _, cfg := behind(t, deviceOptions{})
			d.exec = func(cmd string, ch xssh.Channel) uint32 { fmt.Fprint(ch, cmd); return 3 }
			r, err := dial(t, cfg).Run(t.Context(), "show", nil)
			if err != nil || string(r.Stdout) != "show" || r.Status != 3 {
				t.Errorf("%q %d %v", r.Stdout, r.Status, err)
			}
		})
	})
	for _, tc := range []struct {
		name string
		edit func(t *testing.T, c *Config, d, jump *device) (addr string)
		kind error
	}{
		{"jump host not known", func(_ *testing.T, c *Config, d, jump *device) string { c.KnownHosts = d.hosts; return jump.addr }, ErrHostKeyUnknown},
		{"device behind it not known", func(_ *testing.T, c *Config, d, jump *device) string { c.KnownHosts = jump.hosts; return d.addr }, ErrHostKeyUnknown},
		{"login at the jump host", func(_ *testing.T, c *Config, _, jump *device) string {
			c.Jump = "nobody@" + jump.addr
			return jump.addr
		}, ErrAuth},
		{"login behind it", func(_ *testing.T, c *Config, d, _ *device) string { c.User = "nobody"; return d.addr }, ErrAuth},
		{"forwarding refused", func(t *testing.T, c *Config, d, _ *device) string {
			closed := newDevice(t, deviceOptions{network: d.network})
			c.Jump, c.KnownHosts = testUser+"@"+closed.addr, closed.hosts
			return d.addr
		}, ErrUnreachable},
		{"dead device behind it", func(_ *testing.T, c *Config, _, _ *device) string { c.Address = "127.0.0.1:1"; return c.Address }, ErrUnreachable},
		{"no user", func(_ *testing.T, c *Config, d, jump *device) string { c.Jump = jump.addr; return d.addr }, errConfig},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, jump, cfg := behind(t, deviceOptions{})
				addr := tc.edit(t, &cfg, d, jump)
				_, err := Dial(t.Context(), cfg)
				want(t, err, tc.kind, addr)
			})
		})
	}
	t.Run("silent device behind it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			mute, _, cfg := behind(t, deviceOptions{beforeSSH: func(c net.Conn) bool { _, _ = io.Copy(io.Discard, c); return false }})
			_, err := Dial(t.Context(), cfg)
			want(t, err, ErrTimeout, mute.addr)
		})
	})
}
