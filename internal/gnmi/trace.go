package gnmi

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"path"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/roce-fabric/roce-fabric/internal/fence"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/trace"
)

// operation returns the log's name for a method of the service: "gnmi get".
func operation(method string) string { return "gnmi " + strings.ToLower(path.Base(method)) }

// text returns a message as JSON for the log, with base64-encoded configuration decoded.
func text(message any) string {
	m, ok := message.(proto.Message)
	if !ok {
		return ""
	}
	b, err := protojson.Marshal(m)
	if err != nil {
		return err.Error()
	}
	b = encoded.ReplaceAllFunc(b, func(field []byte) []byte {
		m := encoded.FindSubmatch(field)
		value, err := base64.StdEncoding.DecodeString(string(m[2]))
		if err != nil {
			return append(m[1], `"not shown"`...)
		}
		return append(m[1], value...)
	})
	return strings.ReplaceAll(string(b), `\n`, "\n") // newlines between configuration lines
}

// encoded matches a field that protojson encodes in base64, which is the configuration itself.
var encoded = lazyre.New(`("(?:jsonIetfVal|jsonVal|bytesVal|value|protoBytes)":\s*)"([A-Za-z0-9+/]+=*)"`)

// recorded returns an interceptor that logs each call. No call starts after a lock of its context
// has ended.
func recorded(log *trace.Log) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if err := fence.Err(ctx); err != nil {
			return err
		}
		call := log.Begin(operation(method), func() string { return text(req) })
		err := invoke(ctx, method, req, reply, cc, opts...)
		call.End(func() string { return text(reply) }, err)
		return err
	}
}

// recordedStream returns an interceptor that logs each message of a subscription. No subscription
// starts after a lock of its context has ended.
func recordedStream(log *trace.Log) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		if err := fence.Err(ctx); err != nil {
			return nil, err
		}
		s, err := open(ctx, desc, cc, method, opts...)
		if err != nil || log == nil {
			return s, err
		}
		return stream{s, log, operation(method)}, nil
	}
}

type stream struct {
	grpc.ClientStream
	log *trace.Log
	op  string
}

func (s stream) SendMsg(m any) error {
	call := s.log.Begin(s.op, func() string { return text(m) })
	err := s.ClientStream.SendMsg(m)
	call.End(nil, err)
	return err
}

func (s stream) RecvMsg(m any) error {
	call := s.log.Begin(s.op, func() string { return "" })
	err := s.ClientStream.RecvMsg(m)
	if !errors.Is(err, io.EOF) {
		call.End(func() string { return text(m) }, err)
	}
	return err
}
