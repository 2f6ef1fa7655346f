package operator

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// gitTime bounds a fetch.
const gitTime = 2 * time.Minute

// clone fetches one commit of a repository into a folder. The program git does it, with
// no configuration, no hook and no prompt, and over the transports that are allowed.
func (o *Options) clone(ctx context.Context, f *v1alpha1.Fabric, dir string) (path, revision string, _ error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	src := f.Spec.Intent.Git
	git := func(arg ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=false", "-c", "http.followRedirects=false"}, arg...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=" + o.GitTransports}
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &said, time.Second
		if err := cmd.Run(); err != nil {
			if ctx.Err() != nil {
				return "", fmt.Errorf("git: %w", context.Cause(ctx))
			}
			text := strings.TrimSpace(said.String())
			return "", fmt.Errorf("git %s: %w: %.500s", arg[0], err, strings.ReplaceAll(text, dir, ""))
		}
		return strings.TrimSpace(out.String()), nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", err
	}
	if _, err := git("init", "--quiet"); err != nil {
		return "", "", err
	}
	what := src.Ref
	if what == "" {
		what = src.Revision
	}
	if _, err := git("fetch", "--quiet", "--depth=1", "--no-tags", "--", src.URL, what); err != nil {
		return "", "", err
	}
	revision, err := git("rev-parse", "FETCH_HEAD^{commit}")
	if err != nil {
		return "", "", err
	}
	if src.Revision != "" && revision != src.Revision {
		return "", "", wrong("%s of %s is at %s, not at the revision %s", src.Ref, src.URL, revision, src.Revision)
	}
	if _, err := git("-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", revision); err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, filepath.Clean("/"+src.Path))
	if _, err := os.Lstat(path); err != nil {
		return "", "", wrong("%s has no %s at %s", src.URL, src.Path, revision)
	}
	return path, revision, nil
}
