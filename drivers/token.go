package drivers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// NewToken makes a token of the undo record.
func NewToken(device string, back any) (*Token, error) {
	raw, err := json.Marshal(back)
	if err != nil {
		return nil, fmt.Errorf("encode the undo record: %w", err)
	}
	return &Token{Device: device, Native: raw}, nil
}

// Tell tells the user a note; "" is none.
func (o ApplyOptions) Tell(note string) {
	if o.Note != nil && note != "" {
		o.Note(note)
	}
}

// Read reads the undo record of a device, which may come from a file.
func (t *Token) Read(device string, back any) error {
	if t.Device != device {
		return fmt.Errorf("the undo record is that of %s", t.Device)
	}
	if err := json.Unmarshal(t.Native, back); err != nil {
		return fmt.Errorf("read the undo record: %w", err)
	}
	return nil
}

// Announce tells the undo record, and the first of n steps, before the first write.
func (o ApplyOptions) Announce(t *Token, n int, first Step) error {
	if o.Token != nil {
		if err := o.Token(t); err != nil {
			return err
		}
	}
	if o.Progress != nil {
		o.Progress(0, n, first)
	}
	return nil
}

// Mark is what the names of this tool's sessions and checkpoints begin with.
const Mark = "rf-"

// RunName makes a name of a run's ID with at most the given number of bytes:
// what is unusual in names on devices becomes a dash.
func RunName(id string, most int) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, id)
	return Mark + safe[:min(len(safe), most-len(Mark))]
}

// Ours reports whether a name was made by RunName.
func Ours(name string) bool { return strings.HasPrefix(name, Mark) }

// AtWork says of something on a device that a run of this tool made which began
// age ago, and of which nothing else is known, whose it may be.
func AtWork(age time.Duration) string {
	return fmt.Sprintf("a run of this tool that began %s ago is still running, or was cut off", Spell(age.Round(time.Second)))
}

// RunTime returns when the run began that a name was made for; false for a run
// whose ID does not begin with its time in UTC, "20261121-150405".
func RunTime(name string) (time.Time, bool) {
	const form = "20060102-150405"
	id := strings.TrimPrefix(name, Mark)
	if len(id) < len(form) {
		return time.Time{}, false
	}
	t, err := time.Parse(form, id[:len(form)])
	return t, err == nil
}

// Fingerprint identifies a configuration without the comments ("!"), which hold what
// changes by itself.
func Fingerprint(text string) string {
	h := sha256.New()
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "!") {
			h.Write([]byte(line))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Spell prints a duration as a person reads it: "4m12s", "5m".
func Spell(d time.Duration) string {
	t := d.String()
	return strings.TrimSuffix(t, "m0s") + strings.Repeat("m", strings.Count(t, "m0s"))
}
