package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/crypto/ssh"
)

func TestShuffleWithoutASeed(t *testing.T) {
	var s *Shuffler
	d := s.Answer()
	if l := Reorder(d, []int{1, 2, 3}); d.Bool() || d.N(3) != 0 || l[0] != 1 || l[2] != 3 || string(d.JSON([]byte(`{"b":1,"a":2}`))) != `{"b":1,"a":2}` || d.Pause(t.Context()) != nil {
		t.Error("no dice decide for something")
	}
	new(Shuffler).Answer().Notifications([]*gnmi.Notification{{}})
	d = newDice(1, 2)
	for _, text := range []string{``, `{"a":`, `"a"b"`, `{"a":1} {}`} {
		if got := string(d.JSON([]byte(text))); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

type recorder struct {
	ssh.Channel
	pieces []string
}

func (r *recorder) Write(b []byte) (int, error) {
	r.pieces = append(r.pieces, string(b))
	return len(b), nil
}

// Output over SSH comes in pieces, and is complete.
func TestShuffledPieces(t *testing.T) {
	var s Shuffler
	if ch := s.Channel(&recorder{}); ch.(*recorder) == nil {
		t.Error("a channel without a seed is another one")
	}
	s.Shuffle(1)
	r, want := &recorder{}, ""
	ch := s.Channel(r)
	for i := range 50 {
		text := strings.Repeat("x", i) + "y"
		want += text
		if n, err := io.WriteString(ch, text); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	if n, err := ch.Write(nil); n != 0 || err != nil {
		t.Error(n, err)
	}
	if got := strings.Join(r.pieces, ""); got != want || len(r.pieces) < 100 {
		t.Errorf("%d pieces; whole: %v", len(r.pieces), got == want)
	}
}

// Shuffled JSON has the same meaning, with a different order at each depth.
func TestShuffledJSON(t *testing.T) {
	const text = ` { "a" : {"x":[1, {"p":"q\"}]","\\":[] } ,null],"y":{ }} ,"b":-1.5e3, "c":"é\u00e9" ,"d":[[],{},[{}] , true] } `
	var want any
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	orders := map[string]bool{}
	for seed := range uint64(50) {
		got := newDice(seed, 1).JSON([]byte(text))
		var have any
		if err := json.Unmarshal(got, &have); err != nil || !reflect.DeepEqual(have, want) {
			t.Fatalf("seed %d: %s: %v", seed, got, err)
		}
		for _, pair := range []string{`"a"`, `"b"`, `"c"`, `"d"`} {
			orders[fmt.Sprint(pair, bytes.Index(got, []byte(pair)) < bytes.Index(got, []byte(`"b"`)), bytes.Index(got, []byte(`"x"`)) < bytes.Index(got, []byte(`"y"`)))] = true
		}
	}
	if len(orders) != 14 { // "b" is never before itself
		t.Errorf("%d of 14 orders: %v", len(orders), orders)
	}
	for _, scalar := range []string{`1`, ` "a" `, `null`, `[]`, `{}`} {
		var a, b any
		_ = json.Unmarshal([]byte(scalar), &a)
		if err := json.Unmarshal(newDice(1, 3).JSON([]byte(scalar)), &b); err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %v, %v", scalar, b, err)
		}
	}
}
