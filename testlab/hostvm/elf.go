package hostvm

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// libraries returns the absolute paths of the shared libraries and the loader that a program of
// this machine needs. A static program and a script need none.
func libraries(ctx context.Context, program string) ([]string, error) {
	dynamic, err := isDynamic(program)
	if err != nil || !dynamic {
		return nil, err
	}
	out, err := run(ctx, "ldd", program)
	if err != nil {
		return nil, err
	}
	return parseLdd(program, out)
}

func isDynamic(program string) (bool, error) {
	f, err := os.Open(program)
	if err != nil {
		return false, err
	}
	defer f.Close()
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := io.ReadFull(f, magic); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	if string(magic) != elf.ELFMAG {
		return false, nil
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return false, fmt.Errorf("%s: %w", program, err)
	}
	return slices.ContainsFunc(e.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }), nil
}

// parseLdd parses lines such as "libmnl.so.0 => /lib/libmnl.so.0 (0x...)" and
// "/lib64/ld-linux-x86-64.so.2 (0x...)"; the vdso has no path.
func parseLdd(program, out string) ([]string, error) {
	var libs []string
	for line := range strings.Lines(out) {
		name, path, arrow := strings.Cut(strings.TrimSpace(line), " => ")
		if !arrow {
			path = name
		}
		if strings.HasPrefix(path, "not found") {
			return nil, fmt.Errorf("%s: library %s is not found", program, name)
		}
		path, _, _ = strings.Cut(path, " (")
		if filepath.IsAbs(path) {
			libs = append(libs, path)
		}
	}
	return libs, nil
}
