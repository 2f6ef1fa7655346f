//go:build !linux

package local

// openEthtool opens nothing: only Linux has ethtool.
func openEthtool() (Ethtool, func() error, error) {
	return nil, func() error { return nil }, nil
}
