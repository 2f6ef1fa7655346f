package render

import "github.com/roce-fabric/roce-fabric/intent/qos"

// Refusal is a desired value that a system does not take, and why.
type Refusal struct {
	qos.Place
	Why string
}

// Accepted returns a copy of d without what is refused. The maps are shared.
func Accepted(d *qos.Device, refused []Refusal) *qos.Device {
	var places []qos.Place
	for _, r := range refused {
		places = append(places, r.Place)
	}
	return d.Keeping(nil, places)
}
