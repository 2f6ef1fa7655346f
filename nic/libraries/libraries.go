// Package libraries holds what libraries and programs that send RDMA must be told so that they use
// the class of an intent: the names of their variables and options, and where each is documented.
package libraries

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

//go:embed libraries.json
var librariesJSON []byte

// Library is a library or a program that sends RDMA.
type Library struct {
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	Kind     string    `json:"kind"` // of [intent.Traffic]; "" for any
	Settings []Setting `json:"settings"`
	Notes    []Note    `json:"notes"`
}

// Setting is a variable or an option that puts the library into a class. Its texts may contain
// {tos}, {dscp} and {priority}.
type Setting struct {
	Name   string    `json:"name"`
	Value  string    `json:"value"`
	As     As        `json:"as"`
	Trust  qos.Trust `json:"trust,omitempty"` // of NICs that need it; "" for all
	Since  string    `json:"since,omitempty"` // first version that has it, if not all have
	Does   string    `json:"does"`
	Source string    `json:"source"`
}

// As says where a setting is written.
type As string

// The places.
const (
	Env    As = "env"    // the environment of the process
	Option As = "option" // its command line or configuration
)

// Note is a pitfall, or a class that cannot be set.
type Note struct {
	Text   string `json:"text"`
	Source string `json:"source"`
}

// All are all libraries, in the order of the file.
var All = load(librariesJSON)

func load(text []byte) (list []Library) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		panic("libraries.json: " + err.Error())
	}
	return list
}

// Names returns the names of all libraries.
func Names() (names []string) {
	for _, l := range All {
		names = append(names, l.Name)
	}
	return names
}

// Lookup returns the library with a name.
func Lookup(name string) (Library, bool) {
	i := slices.IndexFunc(All, func(l Library) bool { return l.Name == name })
	if i < 0 {
		return Library{}, false
	}
	return All[i], true
}

// For returns the library with the settings that a mark needs, and the values filled in.
func (l Library) For(m nic.Mark) Library {
	fill := strings.NewReplacer("{tos}", strconv.Itoa(m.ToS), "{dscp}", strconv.Itoa(m.DSCP), "{priority}", strconv.Itoa(m.Priority)).Replace
	out := l
	out.Settings, out.Notes = []Setting{}, []Note{}
	for _, s := range l.Settings {
		if s.Trust == "" || s.Trust == m.Trust {
			s.Value, s.Does = fill(s.Value), fill(s.Does)
			out.Settings = append(out.Settings, s)
		}
	}
	for _, n := range l.Notes {
		n.Text = fill(n.Text)
		out.Notes = append(out.Notes, n)
	}
	return out
}
