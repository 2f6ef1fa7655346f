package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// init does not overwrite a file that someone else creates while it asks its questions.
func TestInitIsOvertaken(t *testing.T) {
	out := filepath.Join(t.TempDir(), "fabric.yaml")
	err := silentApp().writeNew(out, func() ([]byte, error) { return []byte("mine"), os.WriteFile(out, []byte("theirs"), 0o600) })
	if err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Error(err)
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != "theirs" {
		t.Errorf("%s %v", b, err)
	}
}
