package etcd

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages follow etcd's rpc.proto and kv.proto, with the same field numbers. A test compares
// them with the generated code.

// message is a gRPC codec that passes messages through unchanged: requests and answers are
// *[]byte.
type message struct{}

func (message) Name() string                  { return "proto" }
func (message) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (message) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = b
	return nil
}

// encoder encodes a message. Empty and zero fields are left out, as in protocol buffers version 3.
type encoder struct{ b []byte }

func (e *encoder) text(n protowire.Number, s string) *encoder {
	if s != "" {
		e.b = protowire.AppendString(protowire.AppendTag(e.b, n, protowire.BytesType), s)
	}
	return e
}

func (e *encoder) number(n protowire.Number, v int64) *encoder {
	if v != 0 {
		e.b = protowire.AppendVarint(protowire.AppendTag(e.b, n, protowire.VarintType), uint64(v))
	}
	return e
}

func (e *encoder) truth(n protowire.Number, v bool) *encoder {
	return e.number(n, int64(protowire.EncodeBool(v)))
}

// part adds a nested message, which may be empty.
func (e *encoder) part(n protowire.Number, part *encoder) *encoder {
	e.b = protowire.AppendBytes(protowire.AppendTag(e.b, n, protowire.BytesType), part.b)
	return e
}

func (r Range) op() (int, *encoder) {
	return 1, new(encoder).text(1, r.Key).text(2, r.End).number(3, r.Limit).truth(8, r.KeysOnly).truth(9, r.CountOnly)
}

func (p Put) op() (int, *encoder) {
	return 2, new(encoder).text(1, p.Key).text(2, p.Value).number(3, p.Lease)
}

func (d Delete) op() (int, *encoder) { return 3, new(encoder).text(1, d.Key).text(2, d.End) }

func (t Txn) encode() *encoder {
	const targetCreate = 1
	e := new(encoder)
	for _, c := range t.If {
		// The revision is part of a oneof and is sent even if it is 0.
		cond := new(encoder).number(2, targetCreate).text(3, c.Key)
		cond.b = protowire.AppendVarint(protowire.AppendTag(cond.b, 5, protowire.VarintType), uint64(c.Revision))
		e.part(1, cond.text(64, c.End))
	}
	for i, ops := range [][]Op{t.Then, t.Else} {
		for _, o := range ops {
			n, body := o.op()
			e.part(protowire.Number(2+i), new(encoder).part(protowire.Number(n), body))
		}
	}
	return e
}

// field is one field of a message.
type field struct {
	n      protowire.Number
	number uint64
	bytes  []byte
}

// decode calls each for every field of a message. It skips fields of types that this package does
// not use.
func decode(b []byte, each func(field) error) error {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return malformed(size)
		}
		b = b[size:]
		f := field{n: n}
		switch kind {
		case protowire.VarintType:
			f.number, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			f.bytes, size = protowire.ConsumeBytes(b)
		default:
			size = protowire.ConsumeFieldValue(n, kind, b)
		}
		if size < 0 {
			return malformed(size)
		}
		b = b[size:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

func malformed(size int) error {
	return fmt.Errorf("an answer that is malformed: %w", protowire.ParseError(size))
}

func decodeFound(b []byte) (out Found, err error) {
	err = decode(b, func(f field) error {
		switch f.n {
		case 2:
			kv, err := decodeKV(f.bytes)
			out.KVs = append(out.KVs, kv)
			return err
		case 3:
			out.More = f.number != 0
		case 4:
			out.Count = int64(f.number)
		}
		return nil
	})
	return out, err
}

func decodeKV(b []byte) (out KV, err error) {
	err = decode(b, func(f field) error {
		switch f.n {
		case 1:
			out.Key = f.bytes
		case 2:
			out.CreateRevision = int64(f.number)
		case 5:
			out.Value = f.bytes
		}
		return nil
	})
	return out, err
}

func decodeDone(b []byte) (out Done, err error) {
	err = decode(b, func(f field) error {
		switch f.n {
		case 1: // header
			return decode(f.bytes, func(f field) error {
				if f.n == 3 {
					out.Revision = int64(f.number)
				}
				return nil
			})
		case 2:
			out.Succeeded = f.number != 0
		case 3: // the answer to one operation, wrapped in a oneof like the operation
			var found Found
			err := decode(f.bytes, func(f field) (err error) {
				if f.n == 1 {
					found, err = decodeFound(f.bytes)
				}
				return err
			})
			out.Found = append(out.Found, found)
			return err
		}
		return nil
	})
	return out, err
}
