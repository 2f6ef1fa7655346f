package unit

import (
	"errors"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// A host file either parses, and then renders to the same settings, or yields an error.
func FuzzHostFile(f *testing.F) {
	files, err := Files(Settings{Host: &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{
		"eth2": {Name: "eth2", RDMA: "mlx5_0", MTU: qos.Of(9000)},
	}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(files[0].Content)
	f.Add([]byte(`{"format":1,"host":{"ports":{"a":null}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parse(b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
			return
		}
		files, err := Files(Settings{Binary: h.Binary, Host: h.Host})
		if err != nil {
			if !errors.Is(err, ErrName) && len(h.Host.Ports) > 0 {
				t.Error(err)
			}
			return
		}
		again, err := parse(files[0].Content)
		if err != nil || again.Digest != h.Digest {
			t.Errorf("rendered again: %v", err)
		}
	})
}
