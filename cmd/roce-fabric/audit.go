package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// auditFlag adds --audit-log.
func (a *app) auditFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "audit-log", a.getenv("ROCE_FABRIC_AUDIT_LOG"), "append who did what and when to this file, in JSON lines (or ROCE_FABRIC_AUDIT_LOG; default audit.jsonl in a folder of --state)")
	_ = c.MarkFlagFilename("audit-log", "jsonl")
}

// auditLog is the file of the audit log. It is opened with the first line, which comes
// before the first write to a device.
type auditLog struct {
	path string
	f    *os.File
}

// auditOf returns the audit log; a store that is no folder has none by default.
func auditOf(file string, s store.Store) *auditLog {
	if dir, ok := store.Folder(s); file == "" && ok {
		file = filepath.Join(dir, "audit.jsonl")
	}
	return &auditLog{path: file}
}

func (l *auditLog) Write(b []byte) (_ int, err error) {
	if l.path == "" {
		return len(b), nil
	}
	if l.f == nil {
		if l.f, err = os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			return 0, err
		}
	}
	return l.f.Write(b)
}

func (l *auditLog) Close() error {
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}
