// Package ports checks ports in operation, and that ports of one kind are configured alike.
package ports
