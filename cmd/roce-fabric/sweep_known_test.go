package main

import (
	"encoding/json"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// knownStories lists stories that the sweep always plays: those that once found a bug in the
// product, and those that a short sweep is unlikely to meet. A failure of the sweep prints its
// story in this form.
var knownStories = []struct{ what, story string }{
	{
		"a run that does not reach the store of its lock stops before a second operator may begin",
		`{"way":"sonic gnmi","pair":0,"leases":true,"deeds":[{"command":"apply","strikes":[{"fault":"lock store out of reach","device":0,"at":60,"variant":3}],"rival":"apply","later":1000000}],"last":"apply"}`,
	},
	{
		"a restart in the gate, after which a switch without its neighbour is reverted",
		`{"way":"sonic direct","pair":0,"deeds":[{"command":"apply","gate":true,"strikes":[{"fault":"restart","device":0,"at":418,"variant":9}]},{"command":"plan"}],"last":"apply"}`,
	},
	{
		"a rollback to a state that was not saved, on a switch that cannot be saved",
		`{"way":"eos gnmi","pair":2,"deeds":[{"command":"apply"},{"command":"rollback"}],"last":"apply"}`,
	},
	{
		"the revert of an apply to a switch that a rollback left in part",
		`{"way":"eos gnmi","pair":12,"deeds":[{"command":"rollback","strikes":[{"fault":"refused line","device":0,"at":17,"variant":4}]},{"command":"apply","strikes":[{"fault":"reset","device":0,"at":76,"variant":1}]}],"last":"rollback"}`,
	},
	{
		"a rollback on a switch that cannot be saved, of what someone else saved",
		`{"way":"eos gnmi","pair":12,"deeds":[{"command":"apply"},{"command":"rollback","strikes":[{"fault":"full disk","device":1,"at":43,"variant":0},{"fault":"refused line","device":0,"at":17,"variant":4}]},{"command":"apply","strikes":[{"fault":"reset","device":0,"at":76,"variant":1},{"fault":"restart after a save","device":1,"at":38,"variant":3}]}],"last":"rollback"}`,
	},
	{
		"a rollback after a restart that lost the run and the run before it",
		`{"way":"eos gnmi","pair":9,"deeds":[{"command":"apply"},{"command":"apply","strikes":[{"fault":"restart","device":1,"at":6,"variant":3}]},{"command":"rollback"}],"last":"apply"}`,
	},
	{
		"an input policy that lacks only what is so without it",
		`{"way":"nxos 9.3","pair":0,"deeds":[{"command":"apply","strikes":[{"fault":"SIGKILL","device":0,"at":133,"variant":8}]}],"last":"apply"}`,
	},
	{
		"a priority that policies still pause, and nothing is classified into",
		`{"way":"nxos 9.3","pair":6,"deeds":[{"command":"apply","strikes":[{"fault":"SIGKILL","device":1,"at":155,"variant":1}]},{"command":"plan"}],"last":"rollback"}`,
	},
	{
		"policies that a second run creates next to incomplete ones, in another order",
		`{"way":"nxos 9.3","pair":0,"deeds":[{"command":"apply","gate":true,"strikes":[{"fault":"SIGKILL","device":0,"at":202,"variant":3}]},{"command":"resume"}],"last":"rollback"}`,
	},
}

func TestKnownStories(t *testing.T) {
	t.Parallel()
	quietSignals()
	w := newSweep()
	for _, k := range knownStories[:sharedtest.Sized(1, len(knownStories))] {
		t.Run(k.what, func(t *testing.T) {
			var s story
			if err := json.Unmarshal([]byte(k.story), &s); err != nil {
				t.Fatal(err)
			}
			w.tell(t, 0, func(*testing.T) story { return s })
		})
	}
}
