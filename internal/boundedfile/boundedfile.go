// Package boundedfile reads whole files that others made: what is larger
// than the caller expects, or no file at all, is an error and not memory.
//
// Do not use it for secrets, whose mode counts as well.
package boundedfile

import (
	"fmt"
	"io"
	"os"
)

// Read returns the content of a file of at most limit bytes. A pipe is read as
// well; a folder or a larger file is an error.
func Read(path string, limit int64) (b []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if st.IsDir() {
		return nil, fmt.Errorf("%s is a folder", path)
	}
	b, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return b, nil
}
