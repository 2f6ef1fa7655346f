package drivers

import "encoding/json"

// MergeObjects merges the members of JSON object b into a, recursively down to depth. Values
// that are not objects are replaced.
func MergeObjects(a, b json.RawMessage, depth int) json.RawMessage {
	var x, y map[string]json.RawMessage
	if depth == 0 || json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil || x == nil {
		return b
	}
	for k, v := range y {
		if was, ok := x[k]; ok {
			v = MergeObjects(was, v, depth-1)
		}
		x[k] = v
	}
	out, err := json.Marshal(x)
	if err != nil {
		return b
	}
	return out
}
