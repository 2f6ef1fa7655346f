package gnmi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
)

// Limits for an answer to GetTree. A chassis with 576 ports that sends each leaf of each queue and
// priority separately stays below 100,000 values.
const (
	maxValues = 1 << 18
	maxElems  = 64
	maxKeys   = 16
)

// DataType selects which of a device's data a Get reads.
type DataType int

// The data types of gNMI. Some leaves on EOS exist only as config, and are read back with
// DataConfig (aristanetworks/yang pathreport.csv).
const (
	DataAll    DataType = iota
	DataConfig          // the configuration
	DataState           // the state: read-only leaves and the applied values of configured ones
	DataOperational
)

var wireType = map[DataType]gpb.GetRequest_DataType{
	DataAll: gpb.GetRequest_ALL, DataConfig: gpb.GetRequest_CONFIG,
	DataState: gpb.GetRequest_STATE, DataOperational: gpb.GetRequest_OPERATIONAL,
}

// Value is a part of the device's data tree. Path is the complete path from the root, with the
// device's keys; JSON is the leaf or subtree at that path.
type Value struct {
	Path *gpb.Path
	JSON []byte
}

// Decode decodes the value like encoding/json, but with numbers as json.Number, because counters
// have 64 bits. It fails if the value is not JSON or is followed by more text.
func (v Value) Decode() (any, error) {
	d := json.NewDecoder(bytes.NewReader(v.JSON))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("value is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("value is not JSON: there is text after it")
	}
	return out, nil
}

// GetTree reads subtrees. The paths may have keys, which may be "*", in the notation of
// github.com/openconfig/ygot: "/interfaces/interface[name=*]/state". Unlike [Client.Get] it lets
// the device decide how to split the answer: one value per path, per list entry or per leaf. An
// absent path has no value; nil means that all of them are absent.
//
// The values are in the device's order and are not compared with the paths: the caller picks what
// it knows. The JSON is not checked. An answer of unreasonable size or form is an error that wraps
// [ErrAnswer].
func (c *Client) GetTree(ctx context.Context, origin string, typ DataType, paths ...string) ([]Value, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	t, ok := wireType[typ]
	if !ok {
		return nil, &RPCError{Op: "get", Addr: c.addr, Msg: fmt.Sprintf("data type %d", typ), kind: ErrConfig}
	}
	req := &gpb.GetRequest{Prefix: &gpb.Path{Origin: origin}, Type: t, Encoding: c.encoding}
	for _, text := range paths {
		p, err := ygot.StringToStructuredPath(text)
		if err != nil {
			return nil, &RPCError{Op: "get", Addr: c.addr, Msg: err.Error(), kind: ErrConfig, cause: err}
		}
		req.Path = append(req.Path, p)
	}
	resp, err := c.exchange(ctx, req)
	if err != nil {
		return nil, err
	}
	vs, err := values(resp)
	if err != nil {
		return nil, c.badAnswer(err)
	}
	return vs, nil
}

func values(resp *gpb.GetResponse) ([]Value, error) {
	n := 0
	for _, note := range resp.GetNotification() {
		n += len(note.GetUpdate())
	}
	if n > maxValues {
		return nil, fmt.Errorf("%d values, more than %d", n, maxValues)
	}
	var out []Value
	for _, note := range resp.GetNotification() {
		for _, u := range note.GetUpdate() {
			path, err := fullPath(note.GetPrefix(), u.GetPath())
			if err != nil {
				return nil, err
			}
			b, err := jsonValue(u.GetVal())
			if err != nil {
				return nil, err
			}
			if b != nil {
				out = append(out, Value{Path: path, JSON: b})
			}
		}
	}
	return out, nil
}

// fullPath joins the prefix of a notification with the path of an update.
func fullPath(prefix, p *gpb.Path) (*gpb.Path, error) {
	es := slices.Concat(prefix.GetElem(), p.GetElem())
	if len(es) > maxElems {
		return nil, fmt.Errorf("path of %d elements", len(es))
	}
	for _, e := range es {
		if len(e.GetKey()) > maxKeys {
			return nil, fmt.Errorf("path element with %d keys", len(e.GetKey()))
		}
	}
	return &gpb.Path{Elem: es}, nil
}
