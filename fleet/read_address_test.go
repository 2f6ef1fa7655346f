package fleet

import "testing"

// Errors of devices at different addresses are one cause.
func TestAddressesAreApartFromErrors(t *testing.T) {
	const refused = "unreachable: connect: connection refused"
	for _, c := range []struct{ text, what, address string }{
		{"unreachable: connect 192.0.2.1:8080: device is unreachable: dial tcp 192.0.2.1:8080: connect: connection refused", refused, "192.0.2.1:8080"},
		{"unreachable: get leaf3.example.net:8765: device is unreachable: 192.0.2.3:8765: connect: connection refused", refused, "leaf3.example.net:8765"},
		{"unreachable: connect [2001:db8::1]:22: device is unreachable: dial tcp [2001:db8::1]:22: connect: connection refused", refused, "[2001:db8::1]:22"},
		{"the switch refuses the password", "the switch refuses the password", ""},
		{"fabric.yaml: line 3: not a number", "fabric.yaml: line 3: not a number", ""},
	} {
		if what, address := apartFromAddress(c.text); what != c.what || address != c.address {
			t.Errorf("%s: %q at %q", c.text, what, address)
		}
	}
}
