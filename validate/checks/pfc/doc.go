// Package pfc checks priority flow control and its watchdog.
package pfc
