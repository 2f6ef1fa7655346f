package fleet

import (
	"testing"
)

func TestDeviceDiffers(t *testing.T) {
	for _, c := range []struct {
		DeviceDiff
		want bool
	}{
		{DeviceDiff{Running: "a", Intended: "a"}, false},
		{DeviceDiff{Running: "a", Intended: "b"}, true},
		{DeviceDiff{Blocked: []Group{{}}}, true},
	} {
		if c.Differs() != c.want {
			t.Errorf("%+v differs: %t", c.DeviceDiff, !c.want)
		}
	}
}
