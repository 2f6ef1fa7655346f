// Package identity checks whether the device at an address is the one that the intent means, by
// what it says of itself and by what LLDP shows around it.
package identity
