// Package nic checks the NICs of hosts.
package nic
