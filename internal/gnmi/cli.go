package gnmi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// cliOrigin is the origin of a path without elements that stands for the device's command language
// (gNMI specification, "CLI data in gNMI"; Arista EOS: aristanetworks/openmgmt).
const cliOrigin = "cli"

// SetCLI sends lines in the device's command language as one update, and waits like [Client.Set],
// for at most [Config.SetTimeout]. Lines end with a newline. EOS runs them in one configuration
// session: either all take effect, or none and an error is returned (openconfig/featureprofiles
// cli_origin_test). EOS does not save them unless its gNMI server is configured to. The size of
// the request is that of SetRequest{CLI: commands}, see [SetRequest.Size]. As after Set, read the
// configuration back.
func (c *Client) SetCLI(ctx context.Context, commands string) error {
	return c.Set(ctx, SetRequest{CLI: commands})
}

// GetCLI runs one show command on the device and returns its output, as text or, if asJSON is set,
// as JSON. The text may be empty; it is not checked and may contain control characters. It is an
// error that wraps [ErrAnswer] if the device returns text instead of JSON or the reverse. For
// commands without a JSON form, EOS returns text since 4.29.2F (aristanetworks/openmgmt).
func (c *Client) GetCLI(ctx context.Context, command string, asJSON bool) ([]byte, error) {
	if err := checkCLI(command, ""); err != nil {
		return nil, &RPCError{Op: "get", Addr: c.addr, Msg: err.Error(), kind: ErrConfig, cause: err}
	}
	req := &gpb.GetRequest{
		Path:     []*gpb.Path{{Origin: cliOrigin, Elem: []*gpb.PathElem{{Name: command}}}},
		Encoding: gpb.Encoding_ASCII,
	}
	if asJSON {
		req.Encoding = gpb.Encoding_JSON
	}
	resp, err := c.exchange(ctx, req)
	if err != nil {
		return nil, err
	}
	out, err := cliOutput(resp, asJSON)
	if err != nil {
		return nil, c.badAnswer(fmt.Errorf("%s: %w", command, err))
	}
	return out, nil
}

// cliOutput returns the single value of an answer to a show command.
func cliOutput(resp *gpb.GetResponse, asJSON bool) ([]byte, error) {
	var vals []*gpb.TypedValue
	for _, n := range resp.GetNotification() {
		for _, u := range n.GetUpdate() {
			vals = append(vals, u.GetVal())
		}
	}
	if len(vals) != 1 {
		return nil, fmt.Errorf("%d values for one command", len(vals))
	}
	switch t := vals[0].GetValue().(type) {
	case *gpb.TypedValue_AsciiVal:
		if !asJSON {
			return []byte(t.AsciiVal), nil
		}
	case *gpb.TypedValue_StringVal:
		if !asJSON {
			return []byte(t.StringVal), nil
		}
	case *gpb.TypedValue_JsonVal:
		if asJSON {
			return nonNil(t.JsonVal)
		}
	case *gpb.TypedValue_JsonIetfVal:
		if asJSON {
			return nonNil(t.JsonIetfVal)
		}
	default:
		return nil, fmt.Errorf("value of type %T", t)
	}
	if asJSON {
		return nil, errors.New("text, not JSON")
	}
	return nil, errors.New("JSON, not text")
}

// checkCLI rejects text that would not reach the device unchanged: control characters other than
// those in allowed, and invalid UTF-8.
func checkCLI(s, allowed string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("no command")
	}
	if !utf8.ValidString(s) {
		return errors.New("command is not UTF-8")
	}
	for _, r := range s {
		if (r < ' ' || r == 0x7f) && !strings.ContainsRune(allowed, r) {
			return fmt.Errorf("command has the control character %U", r)
		}
	}
	return nil
}
