package intent

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

var (
	hostLabel = lazyre.New(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)
	nicName   = lazyre.New(`^[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,14}$`) // IFNAMSIZ is 16 including the terminating NUL
	rdmaName  = lazyre.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$`)   // IB_DEVICE_NAME_MAX is 64
)

// IsName reports whether s can be the name of a fabric.
func IsName(s string) bool { return textRules["name"].match(s) }

func isDeviceName(s string) bool { return textRules["name"].match(s) }
func isPortName(s string) bool   { return textRules["port"].match(s) }

// parseAddress parses host:port, or a host alone if defaultPort is not empty, and returns it in
// the form that net.Dial takes. fault describes the problem, "" if there is none, and hint the
// expected form.
func parseAddress(s, defaultPort string) (addr, fault, hint string) {
	host, port, stated := s, "", false
	switch {
	case strings.HasPrefix(s, "["):
		inside, rest, closed := strings.Cut(s[1:], "]")
		host = inside
		if port, stated = strings.CutPrefix(rest, ":"); !closed || rest != "" && !stated {
			return "", "is not host:port", textRules["address"].hint
		}
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() {
			return "", "has no IPv6 address in its brackets", "a range holds a comma or a dash: 192.0.2.[11-42]"
		}
	case strings.Count(s, ":") > 1: // an IPv6 address without a port
	case strings.Contains(s, ":"):
		host, port, stated = strings.Cut(s, ":")
	}
	if !isHost(host) {
		return "", "is neither an IP address nor a host name with a port", textRules["address"].hint
	}
	if !stated {
		if defaultPort == "" {
			return "", "has no port", "write host:port"
		}
		port = defaultPort
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "has a port outside 1 to 65535", ""
	}
	return net.JoinHostPort(host, port), "", ""
}

// isHost accepts IP addresses and host names. It rejects names of digits and dots alone, which
// are broken IPv4 addresses.
func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	if len(s) > 253 || strings.Trim(s, "0123456789.") == "" {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if !hostLabel.MatchString(label) {
			return false
		}
	}
	return true
}
