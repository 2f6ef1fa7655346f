package gnmi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// jsonEncoding returns the encoding for values sent to and read from a device that lists these
// encodings. NX-OS supports only JSON. A device that lists none is assumed to support JSON_IETF,
// as most do.
func jsonEncoding(named []gpb.Encoding) gpb.Encoding {
	if len(named) == 0 || slices.Contains(named, gpb.Encoding_JSON_IETF) {
		return gpb.Encoding_JSON_IETF
	}
	return gpb.Encoding_JSON
}

// typedJSON returns JSON text as a value for a Set.
func typedJSON(e gpb.Encoding, text []byte) *gpb.TypedValue {
	if e == gpb.Encoding_JSON {
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: text}}
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: text}}
}

// jsonValue returns a value as JSON text, or nil if the device has nothing at the path. NX-OS
// reports that with a value without a type, while others omit the path; clients for NX-OS also
// treat json_val without text as absent (ironcore-dev/network-operator gnmiext). Empty text in
// json_ietf_val, which NX-OS does not use, an update without a value, and an unknown type are
// errors, because the caller may create anew what appears to be absent.
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
