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

// Bounds of an answer to GetTree. A chassis of 576 ports that sends each leaf
// of each queue and priority by itself stays below 100,000 values.
const (
	maxValues = 1 << 18
	maxElems  = 64
	maxKeys   = 16
)

// DataType says which of a device's data a Get is about.
type DataType int

// The data types of gNMI. EOS has leaves that are config alone, and are read
// back with DataConfig (aristanetworks/yang pathreport.csv).
const (
	DataAll    DataType = iota
	DataConfig          // what was configured
	DataState           // what is, read-only leaves and the mirrors of configured ones
	DataOperational
)

var wireType = map[DataType]gpb.GetRequest_DataType{
	DataAll: gpb.GetRequest_ALL, DataConfig: gpb.GetRequest_CONFIG,
	DataState: gpb.GetRequest_STATE, DataOperational: gpb.GetRequest_OPERATIONAL,
}

// Value is a piece of the device's data tree. Path is the whole path from the
// root, with the keys of the device; JSON is the leaf or the subtree below it.
type Value struct {
	Path *gpb.Path
	JSON []byte
}

// Decode returns what encoding/json makes of the value, numbers as json.Number:
// a counter has 64 bits. An error means that the value is not JSON, or more than
// one.
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

// GetTree reads subtrees, for paths with keys, which may be "*", as
// github.com/openconfig/ygot writes them: "/interfaces/interface[name=*]/state".
// Unlike [Client.Get] it leaves it to the device how to cut the answer: one
// value for a path, one for each list entry, or one for each leaf. An absent
// path has no value; nil means that all of them are absent.
//
// The values come in the device's order and are not compared with the paths:
// the caller takes what it knows. The JSON is not checked. An answer of
// absurd size or form is an error that wraps [ErrAnswer].
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

// fullPath joins the prefix of a notification and the path of an update.
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
