// Package mark defines the note that a run leaves on a device while it works there. Other
// machines, which keep their runs elsewhere, read it.
package mark

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Name is the file name of the mark in /run, which is cleared at a reboot.
const Name = "roce-fabric.run"

// State is the name of the file, next to Name, that lists what runs have set on a host since it
// booted.
const State = "roce-fabric.state"

// Agent is the run name of a host's agent, which holds a mark while it writes.
const Agent = "agent"

// Max is the maximum length of a mark in bytes.
const Max = 2048

// Mark says who is working on a device.
type Mark struct {
	Run   string    `json:"run,omitempty"`
	By    string    `json:"by,omitempty"` // user@machine
	Since time.Time `json:"since,omitzero"`
	// Life is the time in seconds that the run may be silent before it counts as ended, if nothing
	// else shows that it has.
	Life int `json:"life,omitempty"`
}

// New returns the mark of a run that this process starts now.
func New(run string) Mark {
	name, machine := Who()
	return Mark{Run: clip(run), By: clip(name + "@" + machine), Since: time.Now().UTC().Truncate(time.Second)}
}

// Who returns the user and the machine that this process works for. Under sudo that is the user
// who called it (sudo(8)).
func Who() (name, machine string) {
	if name = os.Getenv("SUDO_USER"); name == "" {
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	machine, _ = os.Hostname()
	return name, machine
}

// Text returns the mark as it is written to the device.
func (m Mark) Text() string {
	b, _ := json.Marshal(m) // cannot fail: strings, a number and a time in this century
	return string(b)
}

// Parse reads a mark from a device, where anyone may have written it. It returns an empty Mark for
// invalid text.
func Parse(text []byte) Mark {
	var m Mark
	if len(text) > Max || json.Unmarshal(text, &m) != nil {
		return Mark{}
	}
	return m.Clean()
}

// Clean shortens text from other machines and makes it safe to print.
func (m Mark) Clean() Mark {
	m.Run, m.By = clip(m.Run), clip(m.By)
	return m
}

func clip(s string) string { return term.Clip(s, 100) }

// String names the owner of the mark: "run 7 of ann@host1, since 2026-11-24T22:00:05Z".
func (m Mark) String() string {
	out := "an unidentified run"
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
