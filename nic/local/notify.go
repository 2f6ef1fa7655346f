package local

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/mdlayher/netlink"
)

// Constants of include/uapi/linux/rtnetlink.h and dcbnl.h.
const (
	rtmDelLink = 17
	rtmGetDCB  = 78
	rtmSetDCB  = 79

	// Bit masks: RTNLGRP_LINK is group 1, RTNLGRP_DCB group 23.
	groupLink = 1
	groupDCB  = 1 << 22

	dcbAttrIfname = 1
	dcbmsg        = 4 // size in bytes
)

// Notify calls changed with the name of a network device whenever the kernel reports that its link,
// its MTU or a DCB setting changed, or that the device appeared or disappeared. It runs until ctx
// ends. The name "" means that notifications were lost. Changes of files in sysfs and configfs are
// not reported. Notify needs no privileges. It returns an error if it cannot receive notifications.
func Notify(ctx context.Context, changed func(ifname string)) error {
	conn, err := netlink.Dial(0, &netlink.Config{Groups: groupLink | groupDCB}) // NETLINK_ROUTE
	if err != nil {
		return fmt.Errorf("netlink notifications: %w", err)
	}
	defer conn.Close()
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = conn.SetDeadline(time.Unix(1, 0)) // it fails only on a closed socket
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

// notified returns the name of the device that a notification is about; "" if there is none.
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
