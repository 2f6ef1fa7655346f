package gnmi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// jsonEncoding is how values travel to and from a device that names these
// encodings. NX-OS has JSON alone; a device that names none is taken to have
// what most have.
func jsonEncoding(named []gpb.Encoding) gpb.Encoding {
	if len(named) == 0 || slices.Contains(named, gpb.Encoding_JSON_IETF) {
		return gpb.Encoding_JSON_IETF
	}
	return gpb.Encoding_JSON
}

// typedJSON is JSON text as a value of a Set.
func typedJSON(e gpb.Encoding, text []byte) *gpb.TypedValue {
	if e == gpb.Encoding_JSON {
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: text}}
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: text}}
}

// jsonValue returns a value as JSON text; nil says that the device has nothing
// under the path. NX-OS says so with a value of no type, where others leave
// the path out, and clients of it also take json_val without text for that
// (ironcore-dev/network-operator gnmiext). Empty text in json_ietf_val, which
// NX-OS does not have, an update without any value, and a type that this
// client does not know stay errors: what is absent may be written anew.
func jsonValue(v *gpb.TypedValue) ([]byte, error) {
	var x any
	switch t := v.GetValue().(type) {
	case nil:
		if v == nil || len(v.ProtoReflect().GetUnknown()) > 0 {
			return nil, errors.New("an update has no value of a known type")
		}
		return nil, nil
	case *gpb.TypedValue_JsonVal:
		if len(t.JsonVal) == 0 {
			return nil, nil
		}
		return t.JsonVal, nil
	case *gpb.TypedValue_JsonIetfVal:
		return nonNil(t.JsonIetfVal)
	case *gpb.TypedValue_StringVal:
		x = t.StringVal
	case *gpb.TypedValue_AsciiVal:
		x = t.AsciiVal
	case *gpb.TypedValue_IntVal:
		x = t.IntVal
	case *gpb.TypedValue_UintVal:
		x = t.UintVal
	case *gpb.TypedValue_BoolVal:
		x = t.BoolVal
	case *gpb.TypedValue_DoubleVal:
		x = t.DoubleVal
	case *gpb.TypedValue_LeaflistVal:
		list := []json.RawMessage{}
		for _, e := range t.LeaflistVal.GetElement() {
			b, err := jsonValue(e)
			if err == nil {
				b, err = nonNil(b)
			}
			if err != nil {
				return nil, err
			}
			list = append(list, b)
		}
		x = list
	default:
		return nil, fmt.Errorf("value of type %T", t)
	}
	b, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	return b, nil
}

func nonNil(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, errors.New("a value is empty, not JSON")
	}
	return b, nil
}
