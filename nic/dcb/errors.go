package dcb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/mdlayher/netlink"

	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Kinds of errors, for [errors.Is].
var (
	// ErrUnsupported: the device or the kernel has no DCB operations, or not the one needed.
	ErrUnsupported = errors.New("no DCB operation")
	// ErrNoDevice: this network namespace has no device of that name.
	ErrNoDevice = errors.New("no such network device")
	// ErrPermission: the kernel does not allow this user to write.
	ErrPermission = errors.New("not permitted")
	// ErrRefused: the kernel or the driver rejected the request; Error.Errno holds the error
	// number.
	ErrRefused = errors.New("refused")
	// ErrIgnored: the kernel answered success, but nothing changed.
	ErrIgnored = errors.New("accepted without effect")
	// ErrDiffers: the kernel answered success, but the value read back is neither the old nor the
	// new one.
	ErrDiffers = errors.New("the driver set another value")
	// ErrInvalid: no device can have such a value. Nothing was sent.
	ErrInvalid = errors.New("value out of range")
	// ErrAnswer: the kernel's answer is malformed.
	ErrAnswer = errors.New("unusable answer")
	// errClosed: the Client is closed.
	errClosed = errors.New("closed")
)

// Errno is a positive Linux error number; 0 means none. The kernel passes on only the low eight
// bits of a driver's error number; see Error.Errno.
type Errno uint16

// Error numbers that the package checks for.
const (
	ePERM      Errno = 1
	eNOENT     Errno = 2
	eNOMEM     Errno = 12
	eACCES     Errno = 13
	eEXIST     Errno = 17
	eNODEV     Errno = 19
	eINVAL     Errno = 22
	eOPNOTSUPP Errno = 95
	maxErrno         = 4095
)

// errnoNames holds the errors of asm-generic/errno.h that dcbnl and the drivers return.
var errnoNames = map[Errno]string{
	ePERM: "EPERM", eNOENT: "ENOENT", 4: "EINTR", 5: "EIO", 6: "ENXIO", 7: "E2BIG", 11: "EAGAIN", eACCES: "EACCES",
	14: "EFAULT", 16: "EBUSY", eEXIST: "EEXIST", eNODEV: "ENODEV", eINVAL: "EINVAL", 28: "ENOSPC", 34: "ERANGE",
	38: "ENOSYS", 62: "ETIME", 71: "EPROTO", 90: "EMSGSIZE", eOPNOTSUPP: "EOPNOTSUPP", 105: "ENOBUFS", 110: "ETIMEDOUT", 121: "EREMOTEIO",
}

// String prints "EINVAL" or "errno 200".
func (e Errno) String() string {
	if e == eNOMEM {
		// bnxt returns ENOTSUPP, 524, whose low eight bits are 12.
		return "errno 12 (ENOMEM, or ENOTSUPP cut to eight bits)"
	}
	if s, ok := errnoNames[e]; ok {
		return s
	}
	return fmt.Sprintf("errno %d", uint16(e))
}

// Error describes a failure on a device. It wraps one of the sentinel errors if the cause is known,
// and the context's error if the caller cancelled the call.
type Error struct {
	Op        string // "get", "set pfc", "watch"
	Interface string // "" if the failure concerns no interface
	// Errno is the error number from the kernel or the driver, 0 if there is none. A driver's
	// number is truncated to eight bits: 12 may stand for 524.
	Errno Errno
	Msg   string // safe to print

	kind  error
	cause error
	hint  string
}

// Error returns one line: operation, device, kind, errno and text.
func (e *Error) Error() string {
	s := e.Op
	if e.Interface != "" {
		s += " " + term.CleanLine(e.Interface)
	}
	if e.kind != nil {
		s += ": " + e.kind.Error()
	}
	if e.Errno != 0 {
		s += ": " + e.Errno.String()
	}
	if m := term.CleanLine(e.Msg); m != "" {
		s += ": " + m
	}
	return s
}

// Unwrap returns the sentinel error and the cause, if known.
func (e *Error) Unwrap() []error {
	var l []error
	for _, err := range []error{e.kind, e.cause} {
		if err != nil {
			l = append(l, err)
		}
	}
	return l
}

// Hint returns advice on the failure; it may be empty.
func (e *Error) Hint() string { return e.hint }

func (p *port) fail(kind error, msg string) *Error {
	return &Error{Op: p.op, Interface: p.ifname, kind: kind, Msg: msg, hint: hints[kind]}
}

func (p *port) wrap(err error) *Error {
	return &Error{Op: p.op, Interface: p.ifname, Msg: err.Error(), cause: err}
}

// unsupported returns the error for a driver without an operation.
func (p *port) unsupported(what string) *Error {
	e := p.fail(ErrUnsupported, "the driver does not report "+what)
	e.hint = ""
	return e
}

var hints = map[error]string{
	ErrUnsupported: "virtual and sub-functions, VLANs and bonds have no DCB operations: name the physical function's device; a kernel built without CONFIG_DCB has none at all",
	ErrPermission:  "writing takes CAP_NET_ADMIN on the host itself; in a container's user namespace it is not enough",
	ErrIgnored:     "the kernel is older than this setting, or the driver has no operation for it",
}

// refused returns the error for a write that the driver rejected.
func (p *port) refused(no Errno, msg string) *Error {
	e := p.fail(ErrRefused, msg)
	e.Errno, e.hint = no, refusals[no]
	return e
}

// refusals holds the hints for error numbers of the driver.
var refusals = map[Errno]string{
	eINVAL: "the value does not suit the device, or an LLDP or DCBX agent in its firmware owns the port (bnxt and ice refuse all writes then)",
	eNOMEM: "firmware of Broadcom cards that cannot map DSCPs gives this answer: update it, or let the card trust PCP",
}

// sendError converts an error of an exchange to an Error. kernel reports whether the kernel
// answered with an error, and so did nothing.
func (p *port) sendError(err error) (e *Error, kernel bool) {
	if nle, ok := errors.AsType[*netlink.OpError](err); ok {
		// The number of an answer is a bare syscall.Errno; that of a system call is wrapped.
		if no, ok := nle.Err.(syscall.Errno); ok && no > 0 && no <= maxErrno {
			return p.kernelError(Errno(no)), true
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return p.wrap(err), false
	}
	if cerr := p.ctx.Err(); cerr != nil {
		return p.wrap(cerr), false
	}
	e = p.fail(nil, "no answer in time")
	e.cause = context.DeadlineExceeded
	return e, false
}

// kernelError returns the error for a request that the kernel rejected before it reached the
// driver.
func (p *port) kernelError(no Errno) *Error {
	switch no {
	case eOPNOTSUPP:
		return p.fail(ErrUnsupported, "")
	case eNODEV:
		return p.fail(ErrNoDevice, "")
	case ePERM, eACCES:
		return p.fail(ErrPermission, "")
	}
	e := p.fail(ErrRefused, "")
	e.Errno = no
	return e
}
