package hint

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestOf(t *testing.T) {
	err := fmt.Errorf("leaf1: %w", With(fmt.Errorf("read: %w", fs.ErrNotExist), "look for it"))
	if err.Error() != "leaf1: read: file does not exist" || !errors.Is(err, fs.ErrNotExist) || Of(err) != "look for it" {
		t.Errorf("%v with %q", err, Of(err))
	}
	if got := Of(fs.ErrNotExist); got != "" {
		t.Errorf("an error without advice has %q", got)
	}
}
