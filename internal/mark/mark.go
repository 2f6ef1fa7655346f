// Package mark is the note that a run leaves on a device while it works there, for
// other machines that keep their runs elsewhere.
package mark

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Name is that of the mark in /run, which does not outlive a reboot.
const Name = "roce-fabric.run"

// State is the name, next to Name, of the list of what runs have set on a host since it
// started.
const State = "roce-fabric.state"

// Agent is the run of the agent of a host, which holds a mark for as long as it writes.
const Agent = "agent"

// Max is how long a mark is at most, in bytes.
const Max = 2048

// Mark says whose work a device is under.
type Mark struct {
	Run   string    `json:"run,omitempty"`
	By    string    `json:"by,omitempty"` // user@machine
	Since time.Time `json:"since,omitzero"`
	// Life is how long the run may give no sign of life, in seconds, where nothing
	// else tells that it is over.
	Life int `json:"life,omitempty"`
}

// New is the mark of a run of this process that begins now.
func New(run string) Mark {
	name, machine := Who()
	return Mark{Run: clip(run), By: clip(name + "@" + machine), Since: time.Now().UTC().Truncate(time.Second)}
}

// Who is the user and the machine that this process works for. Under sudo the user
// is who called it (sudo(8)).
func Who() (name, machine string) {
	if name = os.Getenv("SUDO_USER"); name == "" {
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	machine, _ = os.Hostname()
	return name, machine
}

// Text is what is written.
func (m Mark) Text() string {
	b, _ := json.Marshal(m) // texts, a number and a time of this century: it cannot fail
	return string(b)
}

// Parse reads what a device shows, which may be anything. What makes no sense is a mark
// that says nothing.
func Parse(text []byte) Mark {
	var m Mark
	if len(text) > Max || json.Unmarshal(text, &m) != nil {
		return Mark{}
	}
	return m.Clean()
}

// Clean makes foreign text short and safe to print.
func (m Mark) Clean() Mark {
	m.Run, m.By = clip(m.Run), clip(m.By)
	return m
}

func clip(s string) string { return term.Clip(s, 100) }

// String says who it is: "run 7 of ann@host1, since 2026-11-24T22:00:05Z".
func (m Mark) String() string {
	out := "a run that does not say which"
	if m.Run != "" {
		out = "run " + m.Run
	}
	if m.By != "" {
		out += " of " + m.By
	}
	if !m.Since.IsZero() {
		out += fmt.Sprintf(", since %s", m.Since.UTC().Format(time.RFC3339))
	}
	return out
}
