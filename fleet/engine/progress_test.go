package engine

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
)

type narrator struct {
	drivers.Driver
	say func(string)
}

func (n *narrator) Narrate(say func(string)) { n.say = say }

// Long-running work is reported when it begins, at each part, and every minute.
func TestLongWorkIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		drv := &narrator{}
		end := Progress(func(e Event) { said = append(said, e.Device+": "+e.Text) }).ReportLongWork(Writing, drv, "leaf1", "reverting", "")
		time.Sleep(90 * time.Second)
		drv.say("bring up Ethernet0")
		time.Sleep(45 * time.Second)
		end()
		drv.say("nobody listens")
		time.Sleep(time.Hour)
		want := []string{"leaf1: reverting", "leaf1: reverting, still, after 1m", "leaf1: reverting: bring up Ethernet0", "leaf1: reverting: bring up Ethernet0, still, after 2m"}
		if !slices.Equal(said, want) {
			t.Errorf("%q", said)
		}
	})
}
