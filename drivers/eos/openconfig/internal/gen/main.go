// Command gen makes the Go structs of package openconfig: it runs the
// generator of github.com/openconfig/ygot on the OpenConfig YANG models and
// keeps, of what comes out, the containers, lists and enumerations that the
// package reads. Nothing else is kept, in particular no schema, so that the
// structs cost a program that links them nothing at start and bring no module
// along.
//
// It is run by go generate, and is no part of the tool.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
)

// generator is the program that reads YANG: a tool of this module, so that
// go.mod says which version.
const generator = "github.com/openconfig/ygot/generator"

// models are the roots; what they import comes from the same folder.
var models = []string{"openconfig-interfaces.yang", "openconfig-if-ethernet.yang", "openconfig-lldp.yang", "openconfig-qos.yang"}

var options = []string{
	"-compress_paths", "-prefer_operational_state", "-generate_fakeroot", "-fakeroot_name=device",
	"-include_schema=false", "-generate_simple_unions", "-shorten_enum_leaf_names",
	"-trim_enum_openconfig_prefix", "-typedef_enum_with_defmod", "-ignore_shadow_schema_paths",
	"-exclude_modules=ietf-interfaces",
}

func main() {
	dir := flag.String("models", "", "folder of the OpenConfig YANG models, all in one level")
	out := flag.String("o", "models.go", "file to write")
	pkg := flag.String("package", "openconfig", "name of its package")
	flag.Parse()
	if err := run(*dir, *out, *pkg); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(dir, out, pkg string) error {
	if _, err := os.Stat(filepath.Join(dir, models[0])); errors.Is(err, fs.ErrNotExist) {
		fmt.Printf("%s is left as it is: there are no OpenConfig models in %q\n", out, dir)
		return nil
	} else if err != nil {
		return err
	}
	raw, err := generate(dir, pkg)
	if err != nil {
		return err
	}
	pruned, err := prune(raw, pkg)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(out); err == nil && bytes.Equal(old, pruned) {
		return nil
	}
	return atomicfile.Write(out, pruned, 0o644)
}

// generate returns all that ygot makes of the models.
func generate(dir, pkg string) ([]byte, error) {
	tmp, err := os.MkdirTemp("", "openconfig-gen-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	file := filepath.Join(tmp, "all.go")
	// In the folder of the models no path of this machine gets into the
	// output.
	var said bytes.Buffer
	built := exec.Command("go", "tool", "-n", generator)
	built.Stderr = &said
	program, err := built.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", generator, err, strings.TrimSpace(said.String()))
	}
	args := append([]string{"-path=.", "-package_name=" + pkg, "-output_file=" + file}, options...)
	cmd := exec.Command(strings.TrimSpace(string(program)), append(args, models...)...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", generator, err, strings.TrimSpace(said.String()))
	}
	return os.ReadFile(file)
}
