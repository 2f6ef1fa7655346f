package fleet_test

import (
	"os"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

func TestMain(m *testing.M) {
	sharedtest.CollectLess()
	os.Exit(m.Run())
}

// startLab starts a lab on an in-memory network, for a test in a testing/synctest bubble, and
// closes it when the test ends.
func startLab(t *testing.T, f *intent.Fabric, o lab.Options) (*lab.Lab, *fleet.Access) {
	t.Helper()
	network := memnet.New(1)
	o.Listen = network.Listen
	l, err := lab.Start(f, t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, &fleet.Access{At: l.At, Dial: network.Client(nil).Dial}
}
