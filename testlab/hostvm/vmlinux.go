package hostvm

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// writeKernel writes the file that the emulator boots to out: the ELF program inside a bzImage,
// which saves the emulated processor the decompression, half of the boot time. If the program
// cannot be extracted, it is the bzImage itself. The directory stage must exist.
func writeKernel(ctx context.Context, image, stage, out string) error {
	b, err := os.ReadFile(image)
	if err != nil {
		return err
	}
	p, err := payload(b)
	if err != nil {
		return fmt.Errorf("%s: %w", image, err)
	}
	program, suffix := decompressor(p)
	if program == "" {
		return copyFile(image, out)
	}
	if _, err := find(program); err != nil {
		return copyFile(image, out)
	}
	packed, vmlinux := filepath.Join(stage, "vmlinux"+suffix), filepath.Join(stage, "vmlinux")
	if err := os.WriteFile(packed, p, 0o600); err != nil {
		return err
	}
	if _, err := run(ctx, program, "-d", "-q", packed); err != nil {
		return err
	}
	if ok, err := hasPVH(vmlinux); err != nil || !ok {
		return errors.Join(err, copyFile(image, out))
	}
	return copyFile(vmlinux, out)
}

// payload returns the compressed program in a bzImage, without the four-byte size after it
// (Documentation/x86/boot.rst).
func payload(b []byte) ([]byte, error) {
	const sectors, magic, offset, length, end = 0x1f1, 0x202, 0x248, 0x24c, 0x250
	if len(b) < end || string(b[magic:magic+4]) != "HdrS" {
		return nil, errors.New("not a bzImage")
	}
	from := (int64(b[sectors])+1)*512 + int64(binary.LittleEndian.Uint32(b[offset:]))
	to := from + int64(binary.LittleEndian.Uint32(b[length:])) - 4
	if to < from || to > int64(len(b)) {
		return nil, fmt.Errorf("payload from %d to %d of %d bytes", from, to, len(b))
	}
	return b[from:to], nil
}

// decompressor returns the program that decompresses a payload, and the suffix of its files.
func decompressor(p []byte) (program, suffix string) {
	for _, d := range []struct{ magic, program, suffix string }{
		{"\xfd7zXZ\x00", "xz", ".xz"},
		{"\x28\xb5\x2f\xfd", "zstd", ".zst"},
		{"\x1f\x8b", "gzip", ".gz"},
	} {
		if len(p) > len(d.magic) && string(p[:len(d.magic)]) == d.magic {
			return d.program, d.suffix
		}
	}
	return "", ""
}

// hasPVH reports whether an ELF kernel has the entry point that QEMU uses to start it (Xen's note
// PHYS32_ENTRY, include/xen/interface/elfnote.h).
func hasPVH(vmlinux string) (bool, error) {
	const phys32Entry = 18
	f, err := elf.Open(vmlinux)
	if err != nil {
		return false, fmt.Errorf("%s: %w", vmlinux, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > 1<<20 {
			continue
		}
		notes := make([]byte, p.Filesz)
		if _, err := p.ReadAt(notes, 0); err != nil {
			return false, fmt.Errorf("%s: %w", vmlinux, err)
		}
		for len(notes) >= 12 {
			name := int(f.ByteOrder.Uint32(notes))
			desc := int(f.ByteOrder.Uint32(notes[4:]))
			size := 12 + (name+3)&^3 + (desc+3)&^3
			if name < 0 || desc < 0 || size > len(notes) {
				break
			}
			if f.ByteOrder.Uint32(notes[8:]) == phys32Entry && string(notes[12:12+name]) == "Xen\x00" {
				return true, nil
			}
			notes = notes[size:]
		}
	}
	return false, nil
}
