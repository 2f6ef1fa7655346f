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

// Shuffler varies a box's answers in the ways that real boxes of its kind vary: the order of
// unordered items, optional lines without new information, the time of an answer and its division
// into pieces. It never changes the meaning of an answer. Two boxes of a kind, or two releases,
// may have different habits: these depend on the seed. Differences between two answers of one box
// depend on the seed and the number of previous answers.
//
// The zero value and nil change nothing. It is safe for concurrent use.
type Shuffler struct{ seed, answers atomic.Uint64 }

// Shuffle turns it into a different box. Seed 0 changes nothing.
func (s *Shuffler) Shuffle(seed uint64) {
	s.seed.Store(seed)
	s.answers.Store(0)
}

// Habit returns Dice that give the same results in every answer of the box; what names the habit.
func (s *Shuffler) Habit(what string) *Dice {
	if s == nil || s.seed.Load() == 0 {
		return nil
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, what) // a hash does not fail
	return newDice(s.seed.Load(), h.Sum64())
}

// Answer returns Dice for one answer of the box.
func (s *Shuffler) Answer() *Dice {
	if s == nil || s.seed.Load() == 0 {
		return nil
	}
	return newDice(s.seed.Load(), s.answers.Add(1))
}

// Dice makes the choices that a box is free to make. A nil Dice keeps the given order, answers no,
// and does not delay. It is not safe for concurrent use.
type Dice struct{ r *rand.Rand }

func newDice(a, b uint64) *Dice { return &Dice{rand.New(rand.NewPCG(a, b))} }

// Bool chooses yes or no.
func (d *Dice) Bool() bool { return d != nil && d.r.IntN(2) == 1 }

// N chooses a number from 0 to n-1.
func (d *Dice) N(n int) int {
	if d == nil {
		return 0
	}
	return d.r.IntN(n)
}

// Reorder shuffles a list in place and returns it.
func Reorder[T any](d *Dice, l []T) []T {
	if d != nil {
		d.r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
	}
	return l
}

// slowest is the maximum delay of an answer.
const slowest = 2 * time.Millisecond

// Pause delays an answer for a moment, unless ctx ends first. Half of the answers are not delayed.
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

// JSON reorders the members of all objects in a text and changes white space, neither of which has
// a meaning (RFC 8259). Text that is not JSON is returned unchanged.
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

// value writes the value at the start of valid JSON and returns the text after it. It reads each
// byte once, because a switch's answers are megabytes long and deeply nested.
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

// object writes the members of an object. text begins at the first member.
func (d *Dice) object(b *bytes.Buffer, text []byte) []byte {
	var members bytes.Buffer // in the original order
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

// scalarLength returns the length of the string, number or literal at the start of valid JSON.
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

// Notifications shuffles the JSON in the answer to a Get.
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

// Capabilities reorders the models and encodings.
func (d *Dice) Capabilities(r *gnmi.CapabilityResponse) {
	Reorder(d, r.SupportedModels)
	Reorder(d, r.SupportedEncodings)
}

// Channel returns an SSH channel whose output arrives in pieces.
func (s *Shuffler) Channel(ch ssh.Channel) ssh.Channel {
	if d := s.Answer(); d != nil {
		return &pieces{ch, d}
	}
	return ch
}

// pieces supports one writer at a time, like a terminal.
type pieces struct {
	ssh.Channel
	d *Dice
}

// maxPieces is the maximum number of pieces for one write. Sending each byte of a configuration in
// its own packet would be slower than any real box.
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
