package mlxconfig

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// jsonDevice is a device in the file that -j writes (since 4.31).
type jsonDevice struct {
	Type   string               `json:"device_type"`
	Device string               `json:"device"`
	Params map[string]jsonParam `json:"tlv_configuration"`
}

type jsonParam struct {
	ReadOnly bool            `json:"read_only"`
	Default  json.RawMessage `json:"default_value"`
	Current  json.RawMessage `json:"current_value"`
	Next     json.RawMessage `json:"next_value"`
}

// parseJSON reads the file that "-j FILE -e query" writes.
func parseJSON(b []byte) ([]*Config, error) {
	var file map[string]jsonDevice
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOutput, err)
	}
	var out []*Config
	for _, key := range natural.Keys(file) {
		if len(out) == maxDevices {
			break
		}
		out = append(out, file[key].config())
	}
	return out, nil
}

func (d jsonDevice) config() *Config {
	c := &Config{Params: map[string]Param{}}
	c.head(true, d.Type)
	c.head(false, d.Device)
	for _, name := range natural.Keys(d.Params) {
		p := d.Params[name]
		param := Param{Name: name, ReadOnly: p.ReadOnly}
		ok := paramName.MatchString(name) && p.Next != nil
		for to, from := range map[*Value]json.RawMessage{&param.Default: p.Default, &param.Current: p.Current, &param.Next: p.Next} {
			ok = ok && (from == nil || jsonValue(to, from))
		}
		if !ok {
			c.unread(name + ": " + string(p.Next))
			continue
		}
		c.add(param)
	}
	return c
}

// jsonValue decodes a number or a string.
func jsonValue(to *Value, from json.RawMessage) bool {
	from = bytes.TrimSpace(from)
	if len(from) > maxLine {
		return false
	}
	var s string
	if json.Unmarshal(from, &s) == nil {
		*to = ParseValue(word(s))
		return string(from) != "null"
	}
	n, ok := number(string(from))
	*to = numberOf(n)
	return ok
}
