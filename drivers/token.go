package drivers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// NewToken creates a token from the native undo record back.
func NewToken(device string, back any) (*Token, error) {
	raw, err := json.Marshal(back)
	if err != nil {
		return nil, fmt.Errorf("encode the undo record: %w", err)
	}
	return &Token{Device: device, Native: raw}, nil
}

// Tell passes a note to the user, unless it is "".
func (o ApplyOptions) Tell(note string) {
	if o.Note != nil && note != "" {
		o.Note(note)
	}
}

// Read decodes the undo record of a device, which may come from a file.
func (t *Token) Read(device string, back any) error {
	if t.Device != device {
		return fmt.Errorf("the undo record is for %s", t.Device)
	}
	if err := json.Unmarshal(t.Native, back); err != nil {
		return fmt.Errorf("read the undo record: %w", err)
	}
	return nil
}

// Announce reports the undo record and the first of n steps before the first write.
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

// Mark is the prefix of the names of this tool's sessions and checkpoints.
const Mark = "rf-"

// RunName derives a name of at most the given number of bytes from a run ID, replacing characters
// that are unusual in names on devices by dashes.
func RunName(id string, most int) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, id)
	return Mark + safe[:min(len(safe), most-len(Mark))]
}

// Ours reports whether RunName created the name.
func Ours(name string) bool { return strings.HasPrefix(name, Mark) }

// AtWork describes the possible owner of something on a device that was created by a run of this
// tool that began age ago.
func AtWork(age time.Duration) string {
	return fmt.Sprintf("a run of this tool that began %s ago is still running, or was cut off", Spell(age.Round(time.Second)))
}

// RunTime returns the start time of the run for which a name was created; false if the run ID
// does not begin with its time in UTC, "20261121-150405".
func RunTime(name string) (time.Time, bool) {
	const form = "20060102-150405"
	id := strings.TrimPrefix(name, Mark)
	if len(id) < len(form) {
		return time.Time{}, false
	}
	t, err := time.Parse(form, id[:len(form)])
	return t, err == nil
}

// Fingerprint returns a hash of a configuration without comment lines ("!"), because these change
// by themselves.
func Fingerprint(text string) string {
	h := sha256.New()
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "!") {
			h.Write([]byte(line))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Spell formats a duration for users: "4m12s", "5m".
func Spell(d time.Duration) string {
	t := d.String()
	return strings.TrimSuffix(t, "m0s") + strings.Repeat("m", strings.Count(t, "m0s"))
}
