package cli

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Block is the content of one mode of a configuration: its values and its sub-blocks.
type Block struct {
	Mode string
	Head string            // line that opens the block; "" at the root
	Rank int               // order among the items of the parent
	Seq  int               // order among items of equal rank
	Vals map[string]*Value // by key
	Subs map[string]*Block // by key, which by default is the head
	Top  int               // highest sequence number in an access list
	next int
}

// Value is one setting: a line under a key. A later line with the same key replaces it. Values are
// never changed in place.
type Value struct {
	Line  string // as it was entered
	Plain string // without parts equal to the default; "" if nothing is left
	Rank  int
	Seq   int
}

// Clone returns a deep copy of a block.
func (b *Block) Clone() *Block {
	n := *b
	n.Vals = maps.Clone(b.Vals)
	if b.Subs != nil {
		n.Subs = make(map[string]*Block, len(b.Subs))
		for k, s := range b.Subs {
			n.Subs[k] = s.Clone()
		}
	}
	return &n
}

// Put sets a line. A line that replaces another keeps its position.
func (b *Block) Put(key string, v Value) {
	if b.Vals == nil {
		b.Vals = map[string]*Value{}
	}
	if old := b.Vals[key]; old != nil {
		v.Seq = old.Seq
	} else {
		b.next++
		v.Seq = b.next
	}
	b.Vals[key] = &v
}

// Get returns the line under a key, or "" if there is none.
func (b *Block) Get(key string) string {
	if v := b.Vals[key]; v != nil {
		return v.Line
	}
	return ""
}

// Open returns the block under a key. If there is none, it appends a new one.
func (b *Block) Open(key, head, mode string, rank int) *Block {
	if s := b.Subs[key]; s != nil {
		return s
	}
	if b.Subs == nil {
		b.Subs = map[string]*Block{}
	}
	b.next++
	s := &Block{Mode: mode, Head: head, Rank: rank, Seq: b.next}
	b.Subs[key] = s
	return s
}

// MoveBefore moves the block under key to the position before the block under ref. Both must
// exist.
func (b *Block) MoveBefore(key, ref string) {
	order := ordered.Sorted(maps.Keys(b.Subs), func(k, l string) int { return cmp.Compare(b.Subs[k].Seq, b.Subs[l].Seq) })
	places := make([]int, len(order))
	for i, k := range order {
		places[i] = b.Subs[k].Seq
	}
	order = slices.DeleteFunc(order, func(k string) bool { return k == key })
	order = slices.Insert(order, slices.Index(order, ref), key)
	for i, k := range order {
		b.Subs[k].Seq = places[i]
	}
}

// Name returns the last word of the head.
func (b *Block) Name() string { return b.Head[strings.LastIndexByte(b.Head, ' ')+1:] }

// Says reports whether a line of the block begins with the words. It returns false for a nil
// block.
func (b *Block) Says(words string) bool {
	if b == nil {
		return false
	}
	for _, v := range b.Vals {
		if strings.HasPrefix(v.Line, words) {
			return true
		}
	}
	return false
}

// RemoveLines removes the lines and blocks that begin with the words.
func (b *Block) RemoveLines(words string) {
	begins := func(line string) bool {
		return line == words || strings.HasPrefix(line, words) && line[len(words)] == ' '
	}
	maps.DeleteFunc(b.Vals, func(_ string, v *Value) bool { return begins(v.Line) })
	maps.DeleteFunc(b.Subs, func(_ string, s *Block) bool { return begins(s.Head) })
}

// PutEntry adds an entry to an access list at its sequence number, or at the end if seq is "". It
// returns false if another entry has that number.
func (b *Block) PutEntry(seq, text string) bool {
	if seq == "" {
		seq = strconv.Itoa(b.Top + 10)
	}
	line, key := seq+" "+text, "seq "+seq
	n, ok := Natural(seq)
	if old := b.Get(key); !ok || old != "" && old != line {
		return false
	}
	b.Put(key, Value{Line: line, Plain: line, Rank: n})
	b.Top = max(b.Top, n)
	return true
}

// DropEntry removes the entries with the given text.
func (b *Block) DropEntry(text string) {
	maps.DeleteFunc(b.Vals, func(_ string, v *Value) bool {
		_, rest, _ := strings.Cut(v.Line, " ")
		return rest == text
	})
}
