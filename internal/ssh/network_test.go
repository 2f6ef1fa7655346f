package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/internal/secret"
)

var testPlatform = &Platform{
	Levels: []Level{
		{Name: "user", Prompt: `[\w.-]{1,63}>`},
		{Name: "admin", Prompt: `[\w.-]{1,63}(\(s\d\))?#`, Below: "user", Enter: "enable", Leave: "disable"},
		{Name: "config", Prompt: `[\w.-]{1,63}\(conf[\w+/-]*\)#`, Not: []string{"(conf-s-"}, Below: "admin", Enter: "configure", Leave: "end"},
		{Name: "session", Prompt: `[\w.-]{1,63}\(conf-s-[\w+/-]*\)#`, Below: "admin", Leave: "end"},
	},
	Home: "admin", Failed: []string{"% "}, Marker: "^", Password: "Password:", Pager: "--More--",
	OnOpen: []string{"terminal width 32767", "terminal length 0"}, Openers: []string{"interface"},
}

// router simulates a command line with privilege levels and modes.
type router struct {
	motd       string
	enable     string // password; "" if enable asks for none
	asks       int    // how often enable asks for the password; 0 means once
	unpriv     bool
	doubleEcho bool
	answers    map[string]string // answer by line, in any mode; a NUL is a pause
	pauses     []time.Duration
	refused    map[string]bool   // lines that are rejected
	noise      map[string]string // text printed once before an answer
	pager      string            // line whose output has two pages
	hang       chan string       // receives each line "hang", which is never answered

	mu   sync.Mutex
	seen []string // lines, each with the prompt at which it was typed
}

func (r *router) serve(ch xssh.Channel) {
	b := make([]byte, 1)
	read := func(echo bool) (string, error) {
		var line []byte
		for {
			if _, err := ch.Read(b); err != nil {
				return "", err
			}
			if b[0] == '\n' {
				fmt.Fprint(ch, "\r\n")
				return string(line), nil
			}
			if echo {
				_, _ = ch.Write(b)
			}
			line = append(line, b[0])
		}
	}
	fmt.Fprint(ch, strings.ReplaceAll(r.motd, "\n", "\r\n"))
	prompt := "leaf1#"
	if r.unpriv {
		prompt = "leaf1>"
	}
	for {
		fmt.Fprint(ch, prompt)
		line, err := read(true)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.seen = append(r.seen, prompt+line)
		r.mu.Unlock()
		if r.doubleEcho && line != "" {
			fmt.Fprint(ch, prompt, line, "\r\n")
		}
		if text := r.noise[line]; text != "" {
			delete(r.noise, line)
			fmt.Fprint(ch, strings.ReplaceAll(text, "\n", "\r\n"))
		}
		switch {
		case r.refused[line]:
			fmt.Fprint(ch, "% Invalid input\r\n")
		case line == r.pager && line != "":
			fmt.Fprint(ch, "one\r\n--More-- ")
			_, _ = io.Copy(io.Discard, ch)
			return
		case line == "hang":
			r.hang <- line
			_, _ = io.Copy(io.Discard, ch)
			return
		case line == "enable" && prompt == "leaf1>":
			ok := r.enable == ""
			for range max(r.asks, 1) {
				if ok {
					break
				}
				fmt.Fprint(ch, "Password: ")
				given, err := read(false)
				if err != nil {
					return
				}
				ok = given == r.enable
			}
			if ok {
				prompt = "leaf1#"
			} else {
				fmt.Fprint(ch, "% Bad secret\r\n")
			}
		case line == "configure session x" && prompt == "leaf1#":
			prompt = "leaf1(conf-s-x)#"
		case strings.HasPrefix(line, "interface ") && strings.Contains(prompt, "(conf"):
			prompt = strings.TrimSuffix(strings.TrimSuffix(prompt, ")#"), "-if-Et1/1+") + "-if-Et1/1+)#"
		case line == "exit":
			if at := strings.Index(prompt, "-if-"); at > 0 {
				prompt = prompt[:at] + ")#"
			} else {
				prompt = "leaf1#"
			}
		case line == "end":
			prompt = "leaf1#"
		case r.answers[line] != "":
			for i, part := range strings.Split(strings.ReplaceAll(r.answers[line], "\n", "\r\n"), "\x00") {
				if i > 0 {
					time.Sleep(r.pauses[i-1])
				}
				fmt.Fprint(ch, part)
			}
		}
	}
}

func (r *router) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

func (r *router) open(t *testing.T) (*Network, error) {
	d := newDevice(t, deviceOptions{})
	d.shell = r.serve
	cfg := d.config()
	cfg.CommandTimeout = 10 * time.Second
	n, err := dial(t, cfg).Network(t.Context(), testPlatform, testPass)
	if n != nil {
		t.Cleanup(func() {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return n, err
}

func (r *router) mustOpen(t *testing.T) *Network {
	t.Helper()
	n, err := r.open(t)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNetworkGoesHome(t *testing.T) {
	for name, r := range map[string]*router{
		"privileged login":        {},
		"enable without password": {unpriv: true},
		"enable with password":    {unpriv: true, enable: testPass},
		"prompts in the banner":   {unpriv: true, enable: testPass, motd: "\nrouter9#\nleaf9>\nPassword:\n--More--\nleaf1(conf)# is not for you\n\n"},
		"two echoes":              {unpriv: true, enable: testPass, doubleEcho: true},
		"a terminal that refuses": {answers: map[string]string{"terminal width 32767": "% Invalid input\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if r.answers == nil {
					r.answers = map[string]string{}
				}
				r.answers["show clock"] = "12:00\n"
				n := r.mustOpen(t)
				if out, err := n.Show(t.Context(), "show clock"); err != nil || out != "12:00" {
					t.Errorf("%q %v", out, err)
				}
				if seen := r.lines(); !slices.Equal(seen[len(seen)-3:], []string{"leaf1#terminal width 32767", "leaf1#terminal length 0", "leaf1#show clock"}) {
					t.Errorf("typed %q", seen)
				}
			})
		})
	}
}

func TestNetworkEnableRefused(t *testing.T) {
	for name, r := range map[string]*router{
		"once":        {unpriv: true, enable: "other"},
		"asked again": {unpriv: true, enable: "other", asks: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := r.open(t)
				var e *Error
				if !errors.As(err, &e) || !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "enable rejects the login password") || strings.Contains(err.Error(), testPass) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
	t.Run("no password", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newDevice(t, deviceOptions{})
			d.shell = (&router{unpriv: true, enable: "x"}).serve
			_, err := dial(t, d.config()).Network(t.Context(), testPlatform, secret.Secret(""))
			if !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "asks for a password") {
				t.Errorf("error %v", err)
			}
		})
	})
}

func TestNetworkConfigure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &router{doubleEcho: true, answers: map[string]string{
			"poll 9":           "! the interval was changed\n",
			"speed 9":          "\n% Invalid input (at token 1: '9')\n",
			"description 50%":  "",
			"show description": "% at the start\n",
			"show lines":       "interface Ethernet1\n   description % Invalid input\n% in a banner\n",
			"save":             "! warning\n% Error: disk full\n",
		}}
		n := r.mustOpen(t)
		notes, err := n.Configure(t.Context(), &Batch{Level: "session", Enter: "configure session x", Lines: flat("interface Ethernet1/1", "poll 9", "description 50% off", "exit")})
		if err != nil || !slices.Equal(notes, []string{"! the interval was changed"}) {
			t.Errorf("%q %v", notes, err)
		}
		if seen := r.lines(); seen[len(seen)-1] != "leaf1(conf-s-x-if-Et1/1+)#exit" {
			t.Errorf("typed %q", seen)
		}
		// The shell stays usable after a rejection, and leaves the modes by itself.
		_, err = n.Configure(t.Context(), &Batch{Level: "session", Enter: "configure session x", Lines: flat("interface Ethernet1/1", "speed 9", "never sent")})
		var le *LineError
		if !errors.Is(err, errRefused) || !errors.As(err, &le) || le.Number != 2 || le.Line != "speed 9" || le.Words != "% Invalid input (at token 1: '9')" {
			t.Errorf("error %v", err)
		}
		if out, err := n.Show(t.Context(), "show lines"); err != nil || !strings.HasSuffix(out, "% in a banner") {
			t.Errorf("a text with %% is taken for a refusal: %q %v", out, err)
		}
		if seen := r.lines(); strings.Contains(strings.Join(seen, "\n"), "never sent") || seen[len(seen)-1] != "leaf1#show lines" {
			t.Errorf("typed %q", seen)
		}
		if _, err := n.Show(t.Context(), "show description"); !errors.As(err, &le) || le.Words != "% at the start" {
			t.Errorf("error %v", err)
		}
		if _, err := n.Do(t.Context(), "save"); !errors.As(err, &le) || le.Words != "% Error: disk full" {
			t.Errorf("error %v", err)
		}
		_, err = n.Configure(t.Context(), &Batch{Level: "session", Enter: "configure session y", Lines: flat("shutdown")})
		if !errors.As(err, &le) || le.Number != 0 {
			t.Errorf("a session that does not open: %v", err)
		}
		if seen := r.lines(); strings.HasSuffix(seen[len(seen)-1], "shutdown") {
			t.Error("a configuration line is typed outside of the session")
		}
	})
}

// TestNetworkMarker checks rejections that begin with a marker line, also for show commands. A
// marker line further down in the output is not a rejection.
func TestNetworkMarker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &router{answers: map[string]string{
			"show what":    "               ^\nno such command\n",
			"show nothing": "        ^\n\n",
			"show banner":  "first\n   ^\n% in a banner\n",
			"speed 9":      "           ^\n% Invalid number at '^' marker.\n",
		}}
		n := r.mustOpen(t)
		for cmd, words := range map[string]string{"show what": "no such command", "show nothing": "^"} {
			var le *LineError
			if _, err := n.Show(t.Context(), cmd); !errors.As(err, &le) || le.Words != words {
				t.Errorf("%s: %v", cmd, err)
			}
		}
		if out, err := n.Show(t.Context(), "show banner"); err != nil || !strings.HasPrefix(out, "first\n") {
			t.Errorf("%q %v", out, err)
		}
		_, err := n.Configure(t.Context(), &Batch{Level: "session", Enter: "configure session x", Lines: flat("interface Ethernet1/1", "speed 9")})
		var le *LineError
		if !errors.As(err, &le) || le.Words != "% Invalid number at '^' marker." {
			t.Errorf("error %v", err)
		}
		// The next command is typed at the shell's current level.
		if _, err := n.Type(t.Context(), "speed 9"); !errors.As(err, &le) || le.Line != "speed 9" {
			t.Errorf("error %v", err)
		}
		if out, err := n.Type(t.Context(), "end"); err != nil || out != "" {
			t.Errorf("%q %v", out, err)
		}
		seen := r.lines()
		if got := seen[len(seen)-2:]; !slices.Equal(got, []string{"leaf1(conf-s-x-if-Et1/1+)#speed 9", "leaf1(conf-s-x-if-Et1/1+)#end"}) {
			t.Errorf("typed %q", got)
		}
	})
}

// TestNetworkPrompts reads output in which many pieces end in text that looks like a prompt.
func TestNetworkPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big := strings.Repeat("   description to leaf2#\nleaf1(s2)#\nleaf2>\n", 20000)
		r := &router{answers: map[string]string{"show big": big}}
		n := r.mustOpen(t)
		out, err := n.Show(t.Context(), "show big")
		if err != nil || out+"\n" != big {
			t.Errorf("%d of %d bytes, %v", len(out), len(big), err)
		}
	})
}

// After text that looks like a prompt, output may go on, and may then pause for long.
func TestNetworkPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big := strings.Repeat("   description to spine1\n", 200) + "leaf2>\x00 is its peer\n\x00end\n"
		r := &router{answers: map[string]string{"show big": big}, pauses: []time.Duration{patience / 2, 5 * patience}}
		out, err := r.mustOpen(t).Show(t.Context(), "show big")
		if err != nil || out+"\n" != strings.ReplaceAll(big, "\x00", "") {
			t.Errorf("%d of %d bytes, %v", len(out), len(big), err)
		}
	})
}

func TestNetworkPager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &router{pager: "show all"}
		n := r.mustOpen(t)
		_, err := n.Show(t.Context(), "show all")
		if !errors.Is(err, errPager) || !strings.Contains(err.Error(), "--More--") || !strings.Contains(err.Error(), "show all") {
			t.Errorf("error %v", err)
		}
		if _, err := n.Show(t.Context(), "show clock"); !errors.Is(err, ErrLost) {
			t.Errorf("typed into a pager: %v", err)
		}
	})
}

func TestNetworkEnds(t *testing.T) {
	t.Run("with its context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := &router{hang: make(chan string, 4)}
			n := r.mustOpen(t)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-r.hang; cancel() }()
			if _, err := n.Show(ctx, "hang"); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if _, err := n.Do(t.Context(), "x"); !errors.Is(err, ErrLost) {
				t.Errorf("error %v", err)
			}
		})
	})
	t.Run("at its deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := &router{hang: make(chan string, 4)}
			n := r.mustOpen(t)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if _, err := n.Configure(ctx, &Batch{Level: "session", Enter: "configure session x", Lines: flat("hang")}); !errors.Is(err, ErrTimeout) {
				t.Errorf("error %v", err)
			}
		})
	})
	t.Run("with two lines in one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n := (&router{}).mustOpen(t)
			if _, err := n.Configure(t.Context(), &Batch{Level: "session", Enter: "configure session x", Lines: flat("a\nb")}); !errors.Is(err, errConfig) {
				t.Errorf("error %v", err)
			}
		})
	})
}

// flat returns lines of a single mode.
func flat(texts ...string) (out []Line) {
	for _, t := range texts {
		out = append(out, Line{Text: t})
	}
	return out
}
