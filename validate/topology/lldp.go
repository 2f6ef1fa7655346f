package topology

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// lldpFile holds any of the JSON forms that ReadCables knows.
type lldpFile struct {
	LLDP      *lldp           `json:"lldp"`
	Devices   map[string]dump `json:"devices"`
	Neighbors []struct {
		Device   string `json:"device"`
		Port     string `json:"port"`
		Peer     string `json:"peer"`
		PeerPort string `json:"peerPort"`
	} `json:"neighbors"`
}

type dump struct {
	LLDP *lldp `json:"lldp"`
}

// lldp is the output of `lldpctl -f json`. A single interface is a map with its name as key,
// several are a list of such maps; an interface with two neighbours is in the list twice.
type lldp struct {
	Interface manyOf[map[string]neighbour] `json:"interface"`
}

type neighbour struct {
	Chassis map[string]json.RawMessage `json:"chassis"`
	Port    struct {
		ID struct {
			Type  string `json:"type"`
			Value string `json:"value"`
		} `json:"id"`
		Descr string `json:"descr"`
	} `json:"port"`
}

// manyOf reads one value or a list of them.
type manyOf[T any] []T

func (m *manyOf[T]) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, (*[]T)(m))
	}
	var one T
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*m = manyOf[T]{one}
	return nil
}

func readLLDP(name string, data []byte) ([]Cable, error) {
	var f lldpFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if f.LLDP == nil && f.Devices == nil && f.Neighbors == nil {
		return nil, fmt.Errorf(`read %s: the file has none of "lldp", "devices" and "neighbors"`, name)
	}
	var out []Cable
	for i, n := range f.Neighbors {
		out = append(out, Cable{A: End{Device: n.Device, Port: n.Port}, B: End{Device: n.Peer, Port: n.PeerPort}, Told: true})
		for _, s := range []string{n.Device, n.Port, n.Peer, n.PeerPort} {
			if !plausible(s) {
				return nil, fmt.Errorf("read %s: neighbour %d has no name, or one that is too long or not printable", name, i+1)
			}
		}
	}
	if f.LLDP != nil {
		for _, c := range f.LLDP.cables(deviceOf(name)) {
			c.Unnamed = true
			out = append(out, c)
		}
	}
	for _, d := range natural.Keys(f.Devices) {
		if l := f.Devices[d].LLDP; l != nil && plausible(d) {
			out = append(out, l.cables(d)...)
		}
	}
	if len(out) > maxCables {
		return nil, fmt.Errorf("read %s: %w", name, errMany)
	}
	return out, nil
}

// cables returns the cables that a device sees. It ignores a neighbour without a system name,
// which cannot be compared.
func (l *lldp) cables(device string) []Cable {
	var out []Cable
	for _, m := range l.Interface {
		for _, port := range natural.Keys(m) {
			n := m[port]
			for _, peer := range natural.Keys(n.Chassis) {
				// Without a system name, the chassis' own fields appear here.
				if b := bytes.TrimSpace(n.Chassis[peer]); peer == "id" || len(b) == 0 || b[0] != '{' || !plausible(peer) || !plausible(port) {
					continue
				}
				c := Cable{A: End{Device: device, Port: port}, B: End{Device: peer, Port: n.Port.ID.Value, Also: n.Port.Descr}, Told: true}
				if !plausible(c.B.Port) {
					c.B.Port = c.B.Also
				}
				if !plausible(c.B.Also) {
					c.B.Also = ""
				}
				if plausible(c.B.Port) {
					out = append(out, c)
				}
			}
		}
	}
	return out
}
