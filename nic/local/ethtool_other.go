//go:build !linux

package local

// openEthtool returns nil, because only Linux has ethtool.
func openEthtool() (Ethtool, func() error, error) {
	return nil, func() error { return nil }, nil
}
