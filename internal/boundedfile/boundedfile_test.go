package boundedfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := Read(file, 4); err != nil || string(b) != "1234" {
		t.Errorf("%q, %v", b, err)
	}
	for path, want := range map[string]string{file: "more than 3 bytes", dir: "is a folder", filepath.Join(dir, "none"): "no such file"} {
		if _, err := Read(path, 3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
