package scenario

import (
	"strings"
	"testing"
	"time"
)

// flowsOf parses a file of flows.
func flowsOf(t *testing.T, text string) Pattern {
	t.Helper()
	f, err := ParseFlows("flows.csv", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Pattern{Kind: "file", To: 1, File: f}
}

// A file of flows in two classes is one run, of which each class has its own table; a flow takes the
// size and the start that the file states.
func TestFlowsOfAFile(t *testing.T) {
	p := flowsOf(t, "from,to,class,size,start\ngpu2,gpu1,rdma,1MB,100us\ngpu3,gpu1,default,,\n# a comment\ngpu4,gpu1,default,,\n")
	r := predict(t, compiled(t, "quickstart", nil), Options{Traffic: []Pattern{p}, For: time.Millisecond})
	if len(r.Runs) != 2 || r.Runs[0].Class != "default" || r.Runs[0].Flows != 2 || r.Runs[1].Class != "rdma" || r.Runs[1].Flows != 1 {
		t.Fatalf("runs %+v", r.Runs)
	}
	lossy, rdma := r.Runs[0], r.Runs[1]
	if len(rdma.Slowest) != 1 || rdma.Slowest[0].Took <= 0 || rdma.Slowest[0].Took > 900 || rdma.Seeds[0].Finished != 1 || !rdma.limited || lossy.limited {
		t.Errorf("slowest %+v, %+v", rdma.Slowest, rdma.Seeds[0])
	}
	if lossy.Loss == nil || rdma.Loss != nil || rdma.Seeds[0].Lost > 0 || lossy.Mark != nil {
		t.Errorf("losses of the lossy class %+v, of the lossless one %+v; mark %+v", lossy.Loss, rdma.Loss, lossy.Mark)
	}
	for _, port := range lossy.Ports {
		if port.Marks > 0 {
			t.Errorf("the lossy class has marks at %s", port.Port)
		}
	}
	// Alone, the flow that starts at 100 us is done no later than beside others.
	alone := predict(t, compiled(t, "quickstart", nil), Options{Traffic: []Pattern{flowsOf(t, "from,to,size\ngpu2,gpu1,1MB\n")}, For: time.Millisecond})
	if x := alone.Runs[0]; x.Class != "rdma" || x.Slowest[0].Took > rdma.Slowest[0].Took {
		t.Errorf("alone %+v, beside others %+v", x.Slowest, rdma.Slowest)
	}
}

// Errors in a file of flows name its line.
func TestFlowErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "flows.csv: empty",
		"from,to\n":                   "flows.csv: no flows",
		"from\ngpu1\n":                `flows.csv:1: no column "to"`,
		"from,to,from\na,b,c\n":       `flows.csv:1: column "from"`,
		"from,to,sise\na,b,c\n":       `flows.csv:1: column "sise"`,
		"from,to,size\n\ngpu1,gpu2,x": `flows.csv:3: "x" is not a size`,
		"from,to,size\ngpu1,gpu2,0KB": `flows.csv:2: "0KB" is not a size`,
		"from,to,start\na,b,-1us":     `flows.csv:2: "-1us" is not a time`,
		"from,to\ngpu1\n":             "flows.csv: record on line 2",
		"from,to\n\"gpu1\n":           "flows.csv: ",
	} {
		if _, err := ParseFlows("flows.csv", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for example, lines := range map[string]map[string]string{
		"quickstart": {
			"from,to\ngpu1,gpu2\ngpu1,gpu77": "flows.csv:3: no host gpu77",
			"from,to\ngpu1,gpu1":             "flows.csv:2: gpu1 sends to itself",
			"from,to,class\ngpu1,gpu2,gold":  "flows.csv:2: no class gold",
		},
		"rail-512": {"from,to\ngpu01,gpu02/rail0": "flows.csv:2: gpu01 has 8 NICs: name one, such as gpu01/rail0"},
	} {
		c := compiled(t, example, nil)
		for text, want := range lines {
			o := Options{Traffic: []Pattern{flowsOf(t, text)}, For: time.Millisecond, Seeds: 1}
			if _, err := Predict(t.Context(), c, o); err == nil || err.Error() != want {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
		}
	}
}

// Whatever a file holds, it is read or refused.
func FuzzParseFlows(f *testing.F) {
	f.Add("from,to,class,size,start\ngpu2,gpu1,rdma,1MB,100us\n")
	f.Add("to,from\n\"a\"\"b\",c\n#x\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := ParseFlows("flows.csv", []byte(text))
		if (file == nil) == (err == nil) || err == nil && len(file.flows) == 0 {
			t.Errorf("%+v, %v", file, err)
		}
	})
}
