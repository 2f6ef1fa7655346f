package watch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/ownfile"
)

// maxHistoryFile is the largest size of a history file in bytes: several weeks of five-minute
// rounds.
const maxHistoryFile = 2 << 20

// AppendHistory appends a round to a file, as one line of JSON. Before the file exceeds
// maxHistoryFile, it is renamed to path with the suffix ".1", replacing an older one, and a new
// file is started. A line cut off by a crash is terminated first.
func AppendHistory(path string, r Record) error {
	if err := appendHistory(path, r, maxHistoryFile); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// ReadHistory reads the rounds written by [AppendHistory], including those in the renamed file,
// oldest first. It skips invalid lines, such as one cut off by a crash.
func ReadHistory(path string) ([]Record, error) {
	var out []Record
	for _, name := range []string{path + ".1", path} {
		b, err := boundedfile.Read(name, 2*maxHistoryFile)
		if errors.Is(err, fs.ErrNotExist) && name != path {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
		for line := range bytes.Lines(b) {
			var r Record
			if json.Unmarshal(line, &r) == nil && r.Format == Format && !r.Time.IsZero() {
				out = append(out, r)
			}
		}
	}
	ordered.Sort(out, func(a, b Record) int { return a.Time.Compare(b.Time) })
	return out, nil
}

func appendHistory(path string, r Record, most int64) (err error) {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.Size()+int64(len(line)) > most {
		if err := os.Rename(path, path+".1"); err != nil {
			return err
		}
	}
	f, err := ownfile.Open(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, st.Size()-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte("\n"), line...)
		}
	}
	_, err = f.Write(line)
	return err
}
