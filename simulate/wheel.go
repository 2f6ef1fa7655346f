package simulate

import "math/bits"

// kind says what an event does.
type kind uint8

const (
	evArrive  kind = iota // packet b reaches the far end of the link, port a
	evFree                // port a has sent its packet
	evReady               // flow a may send again by its rate; b is the generation of the timer
	evPause               // port a obeys a pause of class b
	evResume              // port a obeys the end of a pause of class b
	evStart               // flow a starts
	evRate                // the timer of rate increases of flow a; b is its generation
	evPoll                // flow a looks for notifications
	evNotify              // the receiver of flow a notifies its sender
	evDrain               // host a has taken the first packet of its receive buffer
	evTimeout             // the retransmission timer of flow a
	evShape               // port a may serve the shaped queue of class b again
	evFail                // the link of port a breaks
	evSample              // the queues are sampled
)

// event is one entry of the wheel. next links the entries of a slot, and the free ones.
type event struct {
	at   Time
	a, b int32
	next int32
	kind kind
}

// wheel is a queue of events in the order of their times, and of their arrival where times are
// equal. Events of the near future are in slots of equal width, those after the last slot in a heap.
// It allocates only while the number of waiting events grows.
type wheel struct {
	events []event
	free   int32
	width  uint // a slot spans 1<<width picoseconds
	slot   int64
	heads  []int32
	tails  []int32
	full   []uint64 // one bit a slot that holds events
	near   int      // events in slots
	far    []int32  // heap
	order  []int64  // by event: the order of arrival, for the heap
	count  int64
}

const slots = 1 << 15

// newWheel returns an empty queue for about so many events a microsecond.
func newWheel(perMicrosecond int64) *wheel {
	w := &wheel{free: -1, heads: make([]int32, slots), tails: make([]int32, slots), full: make([]uint64, slots/64)}
	for i := range w.heads {
		w.heads[i] = -1
	}
	for w.width = 4; w.width < 20 && perMicrosecond<<(w.width+1) < int64(Microsecond); w.width++ {
	}
	return w
}

// add inserts an event. Its time must not be before that of the event popped last.
func (w *wheel) add(at Time, k kind, a, b int32) {
	i := w.free
	if i >= 0 {
		w.free = w.events[i].next
	} else {
		i = int32(len(w.events))
		w.events = append(w.events, event{})
		w.order = append(w.order, 0)
	}
	w.events[i] = event{at: at, a: a, b: b, next: -1, kind: k}
	if int64(at)>>w.width-w.slot >= slots {
		w.count++
		w.order[i] = w.count
		w.pushFar(i)
		return
	}
	w.insert(i)
}

// insert puts an event into its slot, after those of the same time.
func (w *wheel) insert(i int32) {
	w.near++
	at := w.events[i].at
	n := int64(at) >> w.width & (slots - 1)
	head := w.heads[n]
	if head < 0 {
		w.heads[n], w.tails[n] = i, i
		w.full[n>>6] |= 1 << (n & 63)
		return
	}
	if tail := w.tails[n]; w.events[tail].at <= at {
		w.events[tail].next, w.tails[n] = i, i
		return
	}
	if w.events[head].at > at {
		w.events[i].next, w.heads[n] = head, i
		return
	}
	prev := head
	for next := w.events[prev].next; w.events[next].at <= at; next = w.events[next].next {
		prev = next
	}
	w.events[i].next = w.events[prev].next
	w.events[prev].next = i
}

// pop removes the first event; ok is false if there is none.
func (w *wheel) pop() (e event, ok bool) {
	n := w.slot & (slots - 1)
	i := w.heads[n]
	if i < 0 {
		if !w.advance() {
			return e, false
		}
		n = w.slot & (slots - 1)
		i = w.heads[n]
	}
	e = w.events[i]
	w.heads[n] = e.next
	if e.next < 0 {
		w.full[n>>6] &^= 1 << (n & 63)
	}
	w.near--
	w.events[i].next = w.free
	w.free = i
	return e, true
}

// advance moves to the next slot that holds an event.
func (w *wheel) advance() bool {
	switch {
	case w.near > 0:
		w.slot += w.gap()
	case len(w.far) > 0:
		w.slot = int64(w.events[w.far[0]].at) >> w.width
	default:
		return false
	}
	for len(w.far) > 0 && int64(w.events[w.far[0]].at)>>w.width-w.slot < slots {
		w.insert(w.popFar())
	}
	return true
}

// gap returns the distance to the next slot that holds an event. There must be one.
func (w *wheel) gap() int64 {
	n := w.slot & (slots - 1)
	word := n >> 6
	if rest := w.full[word] >> (n & 63); rest != 0 {
		return int64(bits.TrailingZeros64(rest))
	}
	for i := int64(1); ; i++ {
		if set := w.full[(word+i)&(slots/64-1)]; set != 0 {
			return i<<6 - n&63 + int64(bits.TrailingZeros64(set))
		}
	}
}

func (w *wheel) less(i, j int32) bool {
	a, b := w.events[i].at, w.events[j].at
	return a < b || a == b && w.order[i] < w.order[j]
}

func (w *wheel) pushFar(i int32) {
	w.far = append(w.far, i)
	for n := len(w.far) - 1; n > 0; {
		up := (n - 1) / 2
		if !w.less(w.far[n], w.far[up]) {
			return
		}
		w.far[n], w.far[up] = w.far[up], w.far[n]
		n = up
	}
}

func (w *wheel) popFar() int32 {
	top, last := w.far[0], len(w.far)-1
	w.far[0] = w.far[last]
	w.far = w.far[:last]
	for n := 0; ; {
		least := n
		for c := 2*n + 1; c <= 2*n+2 && c < last; c++ {
			if w.less(w.far[c], w.far[least]) {
				least = c
			}
		}
		if least == n {
			return top
		}
		w.far[n], w.far[least] = w.far[least], w.far[n]
		n = least
	}
}
