package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseID parses the name of a journal, as returned by [ID.String].
func ParseID(name string) ID {
	if num, run, ok := strings.Cut(name, "."); ok && len(num) == 13 && num[0] == 'n' {
		if n, err := strconv.ParseUint(num[1:], 10, 64); err == nil && n > 0 {
			return ID{Number: n, Run: run}
		}
	}
	return ID{Run: name}
}

// ByNumber compares journals in the order in which they were created.
func ByNumber(a, b ID) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Run, b.Run)) }

// Next returns the ID of a new journal that follows ids, which are in order.
func Next(ids []ID, run string) ID {
	if len(ids) == 0 {
		return ID{Number: 1, Run: run}
	}
	return ID{Number: ids[len(ids)-1].Number + 1, Run: run}
}

// CheckRecord returns an error unless b is one line of JSON of at most [MaxRecord] bytes.
func CheckRecord(b []byte) error {
	switch {
	case len(b) > MaxRecord:
		return fmt.Errorf("not a journal record: it has more than %d bytes", MaxRecord)
	case bytes.IndexByte(b, '\n') >= 0 || !json.Valid(b):
		return errors.New("not a journal record: one line of JSON is expected")
	}
	return nil
}

// CheckRun returns an error unless the name of a run can be part of a file name and of a
// key.
func CheckRun(run string) error {
	if run == "" || len(run) > 200 || run[0] == '.' || strings.ContainsFunc(run, func(r rune) bool { return r < ' ' || r == '/' || r == '\\' || r == 0x7f }) {
		return fmt.Errorf("%q cannot be the name of a run", run)
	}
	return nil
}

// CheckBreak returns an error unless held still holds the lock. now is the current
// holder, nil if there is none.
func CheckBreak(now *Owner, held Owner) error {
	switch {
	case now == nil:
		return errors.New("the lock is already free")
	case !now.is(held):
		return fmt.Errorf("the lock has changed hands: %v", now)
	}
	return nil
}

// LostTo returns the error for an owner that has lost the lock: [ErrLost] with who broke
// the lock or who holds it now, if known.
func LostTo(ctx context.Context, s Store, o Owner) error {
	breaks, _ := s.Breaks(ctx)
	for _, b := range breaks {
		if b.Held.is(o) {
			return fmt.Errorf("%w: broken by %v", ErrLost, b.By)
		}
	}
	if now, err := s.Holder(ctx); err == nil && now != nil {
		return fmt.Errorf("%w: now with %v", ErrLost, now)
	}
	return ErrLost
}
