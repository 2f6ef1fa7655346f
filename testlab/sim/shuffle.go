package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/crypto/ssh"
)

// Shuffler has a box answer in the ways that a box of its kind is free to: in
// which order it lists what has none, which lines it prints that say nothing
// new, when an answer comes and in which pieces. It never changes what an answer
// says. Two boxes of a kind, or two releases, may have habits of their own: those
// follow from the seed. Differences between two answers of one box follow from
// the seed and the number of answers before.
//
// The zero value, and nil, change nothing. Safe for concurrent use.
type Shuffler struct{ seed, answers atomic.Uint64 }

// Shuffle makes a new box of it: seed 0 is one that changes nothing.
func (s *Shuffler) Shuffle(seed uint64) {
	s.seed.Store(seed)
	s.answers.Store(0)
}

// Habit is what the box does alike in every answer; what names it.
func (s *Shuffler) Habit(what string) *Dice {
	if s == nil || s.seed.Load() == 0 {
		return nil
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, what) // a hash does not fail
	return newDice(s.seed.Load(), h.Sum64())
}

// Answer is for one answer of the box.
func (s *Shuffler) Answer() *Dice {
	if s == nil || s.seed.Load() == 0 {
		return nil
	}
	return newDice(s.seed.Load(), s.answers.Add(1))
}

// Dice decide what a box is free to do. A nil one decides for what comes first,
// for no and for at once. Not safe for concurrent use.
type Dice struct{ r *rand.Rand }

func newDice(a, b uint64) *Dice { return &Dice{rand.New(rand.NewPCG(a, b))} }

// Bool decides for yes or no.
func (d *Dice) Bool() bool { return d != nil && d.r.IntN(2) == 1 }

// N decides for a number from 0 to n-1.
func (d *Dice) N(n int) int {
	if d == nil {
		return 0
	}
	return d.r.IntN(n)
}

// Reorder brings a list into another order, in place, and returns it.
func Reorder[T any](d *Dice, l []T) []T {
	if d != nil {
		d.r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
	}
	return l
}

// slowest is the longest that an answer is late.
const slowest = 2 * time.Millisecond

// Pause holds an answer back for a moment, unless ctx ends before; half of the
// answers come at once.
func (d *Dice) Pause(ctx context.Context) error {
	if d == nil || d.Bool() {
		return ctx.Err()
	}
	t := time.NewTimer(time.Duration(d.r.Int64N(int64(slowest))))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// JSON writes the members of all objects of a text in another order, and with
// other white space: neither has a meaning (RFC 8259). A text that is no JSON
// stays as it is.
func (d *Dice) JSON(text []byte) []byte {
	if d == nil || !json.Valid(text) {
		return text
	}
	var b bytes.Buffer
	d.value(&b, text)
	if d.N(4) == 0 {
		var wide bytes.Buffer
		if json.Indent(&wide, b.Bytes(), "", " ") == nil {
			return wide.Bytes()
		}
	}
	return b.Bytes()
}

// value writes the value at the head of valid JSON, and returns what follows it. Each
// byte is read once: answers of a switch are megabytes long and nested deeply.
func (d *Dice) value(b *bytes.Buffer, text []byte) []byte {
	text = skipSpace(text)
	switch text[0] {
	case '{':
		return d.object(b, text[1:])
	case '[':
		b.WriteByte('[')
		for text = skipSpace(text[1:]); text[0] != ']'; text = skipSpace(text) {
			if text[0] == ',' {
				b.WriteByte(',')
				text = text[1:]
			}
			text = d.value(b, text)
		}
		b.WriteByte(']')
		return text[1:]
	}
	n := scalarLength(text)
	b.Write(text[:n])
	return text[n:]
}

// object writes the members of an object, of which text begins with the first.
func (d *Dice) object(b *bytes.Buffer, text []byte) []byte {
	var members bytes.Buffer // as they came
	type member struct{ from, to int }
	var list []member
	for text = skipSpace(text); text[0] != '}'; text = skipSpace(text) {
		if text[0] == ',' {
			text = skipSpace(text[1:])
		}
		m := member{from: members.Len()}
		n := scalarLength(text)
		members.Write(text[:n])
		members.WriteByte(':')
		text = d.value(&members, skipSpace(text[n:])[1:])
		m.to = members.Len()
		list = append(list, m)
	}
	all := members.Bytes()
	b.WriteByte('{')
	for i, m := range Reorder(d, list) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(all[m.from:m.to])
	}
	b.WriteByte('}')
	return text[1:]
}

func skipSpace(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n") }

// scalarLength is that of the string, number or name at the head of valid JSON.
func scalarLength(text []byte) int {
	if text[0] != '"' {
		if n := bytes.IndexAny(text, ",:]} \t\r\n"); n >= 0 {
			return n
		}
		return len(text)
	}
	n := 1
	for ; text[n] != '"'; n++ {
		if text[n] == '\\' {
			n++
		}
	}
	return n + 1
}

// Notifications shuffles the JSON in answers to a Get.
func (d *Dice) Notifications(ns []*gnmi.Notification) {
	if d == nil {
		return
	}
	for _, n := range ns {
		for _, u := range n.GetUpdate() {
			switch v := u.GetVal().GetValue().(type) {
			case *gnmi.TypedValue_JsonVal:
				v.JsonVal = d.JSON(v.JsonVal)
			case *gnmi.TypedValue_JsonIetfVal:
				v.JsonIetfVal = d.JSON(v.JsonIetfVal)
			}
		}
	}
}

// Capabilities lists models and encodings in another order.
func (d *Dice) Capabilities(r *gnmi.CapabilityResponse) {
	Reorder(d, r.SupportedModels)
	Reorder(d, r.SupportedEncodings)
}

// Channel is an SSH channel on which what is printed comes in pieces.
func (s *Shuffler) Channel(ch ssh.Channel) ssh.Channel {
	if d := s.Answer(); d != nil {
		return &pieces{ch, d}
	}
	return ch
}

// pieces has one writer at a time, as a terminal has.
type pieces struct {
	ssh.Channel
	d *Dice
}

// maxPieces bounds the pieces of what is printed at once: a packet for each byte
// of a configuration would be slower than any box.
const maxPieces = 16

// Write implements io.Writer.
func (p *pieces) Write(b []byte) (n int, err error) {
	for left := p.d.N(maxPieces); left > 0 && len(b)-n > 1; left-- {
		size := 1 + p.d.N(len(b)-n)
		m, err := p.Channel.Write(b[n : n+size])
		n += m
		if err != nil {
			return n, err
		}
	}
	if n == len(b) && n > 0 {
		return n, nil
	}
	m, err := p.Channel.Write(b[n:])
	return n + m, err
}
