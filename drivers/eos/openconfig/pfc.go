package openconfig

import "errors"

// The structs below are those of Arista's additions to the tree, which the
// public OpenConfig models lack, written by hand in the form that ygot
// generates. The paths and the releases that have them are those of
// aristanetworks/yang EOS-4.36.1F, pathreport.csv: counters of priorities and
// of the watchdog since 4.23.2.

// pfcDevice is the root of the additions.
type pfcDevice struct {
	Interface map[string]*pfcInterface `path:"interfaces/interface"`
}

type pfcInterface struct {
	Name     *string                      `path:"state/name|name"`
	Priority map[uint8]*pfcPriority       `path:"ethernet/pfc/priorities/priority"`
	TxQueue  map[pfcQueueKey]*pfcWatchdog `path:"ethernet/pfc/watchdog/tx-queues/tx-queue"`
}

// pfcPriority has the PFC frames of a priority.
type pfcPriority struct {
	Index     *uint8  `path:"state/index|index"`
	InFrames  *uint64 `path:"state/in-frames"`
	OutFrames *uint64 `path:"state/out-frames"`
}

// pfcQueueKey names a queue; a unicast queue is of type unicast.
type pfcQueueKey struct {
	Index     uint8  `path:"index"`
	QueueType string `path:"queue-type"`
}

const unicast = "UNICAST"

// pfcWatchdog has what the watchdog did to a queue.
type pfcWatchdog struct {
	Index         *uint8  `path:"state/index|index"`
	QueueType     *string `path:"state/queue-type|queue-type"`
	StuckCount    *uint64 `path:"state/stuck-count"`
	RecoveryCount *uint64 `path:"state/recovery-count"`
}

var errNoKey = errors.New("a key is missing")

func (i *pfcInterface) ΛListKeyMap() (map[string]interface{}, error) {
	if i.Name == nil {
		return nil, errNoKey
	}
	return map[string]interface{}{"name": *i.Name}, nil
}

func (p *pfcPriority) ΛListKeyMap() (map[string]interface{}, error) {
	if p.Index == nil {
		return nil, errNoKey
	}
	return map[string]interface{}{"index": *p.Index}, nil
}

func (w *pfcWatchdog) ΛListKeyMap() (map[string]interface{}, error) {
	if w.Index == nil || w.QueueType == nil {
		return nil, errNoKey
	}
	return map[string]interface{}{"index": *w.Index, "queue-type": local(*w.QueueType)}, nil
}
