package scenario

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/simulate"
)

// FlowFile is traffic that a file lists.
type FlowFile struct {
	Name  string
	flows []listed
}

// listed is one line of the file.
type listed struct {
	line     int
	from, to string
	class    string // "" for the class of the run
	size     units.Bytes
	start    time.Duration
	timed    bool // start is stated
}

// FlowColumns are the columns of a file of flows, of which the first two are required.
const FlowColumns = "from,to,class,size,start"

// ParseFlows reads a file of flows: CSV with a heading that names its columns. A host is named as
// HOST, or HOST/NIC if it has several. A flow without a size has no end, one without a class is in
// the class of the run, and one without a start begins within the first microsecond.
func ParseFlows(name string, data []byte) (*FlowFile, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.Comment, r.TrimLeadingSpace = '#', true
	heading, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: empty, the first line names the columns %s", name, FlowColumns)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := checkColumns(heading); err != nil {
		return nil, fmt.Errorf("%s:1: %w", name, err)
	}
	f := &FlowFile{Name: name}
	for {
		fields, err := r.Read()
		switch {
		case errors.Is(err, io.EOF) && len(f.flows) == 0:
			return nil, fmt.Errorf("%s: no flows", name)
		case errors.Is(err, io.EOF):
			return f, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := r.FieldPos(0)
		l := listed{line: line}
		for i, text := range fields {
			if err := l.set(heading[i], text); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, line, err)
			}
		}
		if f.flows = append(f.flows, l); len(f.flows) > mostFlows {
			return nil, fmt.Errorf("%s:%d: more than %d flows", name, line, mostFlows)
		}
	}
}

// checkColumns returns an error unless each column is known and named once, and none is missing.
func checkColumns(heading []string) error {
	known := strings.Split(FlowColumns, ",")
	for i, column := range heading {
		if slices.Contains(heading[:i], column) || !slices.Contains(known, column) {
			return fmt.Errorf("column %q, use each of %s at most once", column, FlowColumns)
		}
	}
	for _, column := range known[:2] {
		if !slices.Contains(heading, column) {
			return fmt.Errorf("no column %q", column)
		}
	}
	return nil
}

// set takes the text of one column, which may be empty.
func (l *listed) set(column, text string) (err error) {
	switch column {
	case "from":
		l.from = text
	case "to":
		l.to = text
	case "class":
		l.class = text
	case "size":
		if l.size, err = units.ParseBytes(cmp.Or(text, "0B")); err != nil || l.size <= 0 && text != "" {
			return fmt.Errorf("%q is not a size such as 64MB", text)
		}
	case "start":
		l.timed = text != ""
		if l.start, err = time.ParseDuration(cmp.Or(text, "0s")); err != nil || l.start < 0 {
			return fmt.Errorf("%q is not a time such as 10us", text)
		}
	}
	return nil
}

// mixed reports whether flows state their class.
func (f *FlowFile) mixed() bool {
	return slices.ContainsFunc(f.flows, func(l listed) bool { return l.class != "" })
}

// classesOf returns the indexes of the classes of the flows, in the order of the intent. Flows without
// one are in the given class.
func (f *fabric) classesOf(file *FlowFile, class int) (out []int, err error) {
	for _, l := range file.flows {
		c := class
		if l.class != "" {
			if c = slices.Index(f.Classes, l.class); c < 0 {
				return nil, fmt.Errorf("%s:%d: %w", file.Name, l.line, &UnknownError{"class", l.class, f.Classes})
			}
		}
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return out, nil
}

// listed adds the flows of a file.
func (f *fabric) listed(file *FlowFile, class int, r *rand.Rand) error {
	for _, l := range file.flows {
		if err := f.add(l, class, r); err != nil {
			return fmt.Errorf("%s:%d: %w", file.Name, l.line, err)
		}
	}
	return nil
}

// add adds a flow of a file.
func (f *fabric) add(l listed, class int, r *rand.Rand) error {
	from, err := f.nicOf(l.from)
	if err != nil {
		return err
	}
	to, err := f.nicOf(l.to)
	if err != nil {
		return err
	}
	if from == to {
		return fmt.Errorf("%s sends to itself", l.from)
	}
	if l.class != "" {
		class = slices.Index(f.Classes, l.class)
	}
	if err := f.flow(from, to, class, int64(l.size), r); err != nil {
		return err
	}
	if l.timed {
		f.Flows[len(f.Flows)-1].Start = simulate.TimeOf(l.start)
	}
	return nil
}

// nicOf returns the only NIC of a host, or the one that is named as HOST/NIC.
func (f *fabric) nicOf(name string) (int, error) {
	nodes, err := f.hostNodes(name)
	if err != nil {
		return 0, err
	}
	if len(nodes) > 1 {
		return 0, fmt.Errorf("%s has %d NICs: name one, such as %s", name, len(nodes), f.Nodes[nodes[0]].Name)
	}
	return nodes[0], nil
}
