package yaml

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	yamlv3 "gopkg.in/yaml.v3"
)

// FromJSON returns a writer that takes JSON documents and writes each to w as a YAML document with the
// same keys, in the same order, as soon as it is complete. Close waits for the last one.
func FromJSON(w io.Writer) io.WriteCloser {
	r, p := io.Pipe()
	y := &fromJSON{PipeWriter: p, done: make(chan error, 1)}
	go func() {
		err := convert(w, r)
		_ = r.CloseWithError(err) // a later write fails with err; never fails itself
		y.done <- err
	}()
	return y
}

type fromJSON struct {
	*io.PipeWriter
	done chan error // the result of the conversion
}

// Close ends the last document.
func (y *fromJSON) Close() error {
	_ = y.PipeWriter.Close() // never fails
	return <-y.done
}

func convert(w io.Writer, r io.Reader) error {
	dec := json.NewDecoder(r)
	for n := 0; ; n++ {
		var text json.RawMessage
		switch err := dec.Decode(&text); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("write YAML: %w", err)
		}
		var doc yamlv3.Node // JSON is YAML; a node keeps the order of keys
		if err := yamlv3.Unmarshal(text, &doc); err != nil {
			return fmt.Errorf("write YAML: %w", err)
		}
		withoutStyle(&doc)
		if n > 0 {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		enc := yamlv3.NewEncoder(w)
		enc.SetIndent(2)
		if err := errors.Join(enc.Encode(&doc), enc.Close()); err != nil {
			return err
		}
	}
}

// withoutStyle removes the braces and quotes of JSON; the encoder quotes what needs it.
func withoutStyle(n *yamlv3.Node) {
	n.Style = 0
	for _, c := range n.Content {
		withoutStyle(c)
	}
}
