package local

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/mdlayher/netlink"
)

// Of include/uapi/linux/rtnetlink.h and dcbnl.h.
const (
	rtmDelLink = 17
	rtmGetDCB  = 78
	rtmSetDCB  = 79

	// As bits: RTNLGRP_LINK is the first group, RTNLGRP_DCB the 23rd.
	groupLink = 1
	groupDCB  = 1 << 22

	dcbAttrIfname = 1
	dcbmsg        = 4 // bytes
)

// Notify calls changed with the name of each network device of which the kernel says that
// its link, its MTU or a DCB setting changed, or that it came or went, until ctx ends. ""
// stands for notifications that were lost. Files of sysfs and configfs change without
// one. It needs no privilege. The error is that the kernel cannot be asked.
func Notify(ctx context.Context, changed func(ifname string)) error {
	conn, err := netlink.Dial(0, &netlink.Config{Groups: groupLink | groupDCB}) // NETLINK_ROUTE
	if err != nil {
		return fmt.Errorf("netlink notifications: %w", err)
	}
	defer conn.Close()
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = conn.SetDeadline(time.Unix(1, 0)) // it fails on a closed socket only
	})
	defer func() {
		if !stop() {
			<-done
		}
	}()
	for {
		msgs, err := conn.Receive()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, syscall.ENOBUFS):
			changed("")
		case err != nil:
			return fmt.Errorf("netlink notifications: %w", err)
		}
		for _, m := range msgs {
			if name := notified(m); name != "" {
				changed(name)
			}
		}
	}
}

// notified is the device that a notification is about; "" for none.
func notified(m netlink.Message) string {
	head, attr := ifinfomsg, uint16(iflaIfname)
	switch m.Header.Type {
	case rtmNewLink, rtmDelLink:
	case rtmGetDCB, rtmSetDCB:
		head, attr = dcbmsg, dcbAttrIfname
	default:
		return ""
	}
	if len(m.Data) < head {
		return ""
	}
	ad, err := netlink.NewAttributeDecoder(m.Data[head:])
	if err != nil {
		return ""
	}
	for ad.Next() {
		if ad.Type() == attr {
			if name := ad.String(); validName(name, maxIfname) {
				return name
			}
		}
	}
	return ""
}
