// Package cabling checks what is connected to a port.
package cabling
