// Package mtu checks how large packets may be.
package mtu
