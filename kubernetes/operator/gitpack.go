package operator

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// gitObjects limits the unpacked size of the objects in a fetch.
const gitObjects = 128 << 20

// checkOut writes the intent at a commit of a repository to a folder.
func checkOut(ctx context.Context, server gitServer, src *v1alpha1.GitSource, dir string) (path, revision string, _ error) {
	have, err := server.refs(ctx)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", src.URL, err)
	}
	w, err := wantOf(have, src)
	if err != nil {
		return "", "", err
	}
	objects, err := w.fetch(ctx, server, have.Capabilities)
	if err != nil && src.Ref == "" && strings.Contains(err.Error(), "not our ref") {
		return "", "", wrong("%s has no commit %s", src.URL, w.commit)
	}
	if err != nil {
		return "", "", fmt.Errorf("fetch %s: %w", src.URL, err)
	}
	commit, err := object.GetCommit(objects, w.commit)
	if err != nil {
		return "", "", wrong("%s has no commit %s", src.URL, w.commit)
	}
	tree, err := commit.Tree()
	if err != nil {
		return "", "", fmt.Errorf("commit %s: %w", w.commit, err)
	}
	path, err = writeTree(tree, src, w.commit, dir)
	return path, w.commit.String(), err
}

// want describes what to request from a server.
type want struct {
	commit  plumbing.Hash
	objects []plumbing.Hash // the commit, or objects from which it can be reached
	all     bool            // including their history
}

// wantOf finds the commit of a source: that of its branch or tag, or its revision.
func wantOf(have *packp.AdvRefs, src *v1alpha1.GitSource) (w want, _ error) {
	revision := plumbing.NewHash(src.Revision)
	if src.Ref != "" {
		for _, prefix := range []string{"refs/tags/", "refs/heads/", ""} {
			name := prefix + src.Ref
			h, ok := have.References[name]
			if !ok || prefix == "" && !strings.HasPrefix(name, "refs/") {
				continue
			}
			w = want{commit: h, objects: []plumbing.Hash{h}}
			if at, ok := have.Peeled[name]; ok { // an annotated tag
				w.commit = at
			}
			if src.Revision != "" && w.commit != revision {
				return w, wrong("%s of %s is at %s, not at the revision %s", src.Ref, src.URL, w.commit, src.Revision)
			}
			return w, nil
		}
		return w, wrong("%s has no branch or tag %s", src.URL, src.Ref)
	}
	w = want{commit: revision, objects: []plumbing.Hash{revision}}
	for name, h := range have.References {
		if at, ok := have.Peeled[name]; h == revision || ok && at == revision {
			w.objects[0] = h
			return w, nil
		}
	}
	if have.Capabilities.Supports(capability.AllowReachableSHA1InWant) {
		return w, nil
	}
	// By default, a server only serves the tips of its branches and tags, so fetch their
	// history, which contains the commit.
	w.all, w.objects = true, nil
	for name, h := range have.References {
		if strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/") {
			w.objects = append(w.objects, h)
		}
	}
	plumbing.HashesSort(w.objects)
	w.objects = slices.Compact(w.objects)
	if w.objects == nil {
		return w, wrong("%s has no commit %s", src.URL, src.Revision)
	}
	return w, nil
}

// fetch requests the objects and returns them in a memory storage.
func (w *want) fetch(ctx context.Context, server gitServer, can *capability.List) (*memory.Storage, error) {
	for _, c := range []capability.Capability{capability.MultiACK, capability.MultiACKDetailed, capability.ThinPack} {
		can.Delete(c) // useful only to clients that already have objects
	}
	req := packp.NewUploadPackRequestFromCapabilities(can)
	req.Wants = w.objects
	add := func(c capability.Capability) bool { return can.Supports(c) && req.Capabilities.Set(c) == nil }
	add(capability.NoProgress)
	if !w.all && add(capability.Shallow) {
		req.Depth = packp.DepthCommits(1)
	}
	var ask bytes.Buffer
	if err := req.UploadRequest.Encode(&ask); err != nil {
		return nil, err
	}
	if err := pktline.NewEncoder(&ask).EncodeString("done\n"); err != nil {
		return nil, err
	}
	answer, err := server.fetch(ctx, &ask)
	if err != nil {
		return nil, err
	}
	defer answer.Close() // the body was read; the error does not matter
	resp := packp.NewUploadPackResponse(req)
	if err := resp.Decode(answer); err != nil {
		return nil, err
	}
	var pack io.Reader = resp
	for c, kind := range map[capability.Capability]sideband.Type{capability.Sideband: sideband.Sideband, capability.Sideband64k: sideband.Sideband64k} {
		if req.Capabilities.Supports(c) {
			pack = sideband.NewDemuxer(kind, resp)
		}
	}
	b, err := io.ReadAll(pack)
	if err == nil {
		err = checkPack(b)
	}
	if err != nil {
		return nil, err
	}
	out := memory.NewStorage()
	return out, packfile.UpdateObjectStorage(out, bytes.NewReader(b))
}

// checkPack limits the object sizes that a pack declares, because a few bytes can unpack to
// gigabytes.
func checkPack(pack []byte) error {
	s := packfile.NewScanner(bytes.NewReader(pack))
	_, n, err := s.Header()
	if err != nil {
		return err
	}
	sum := uint64(0)
	for range n {
		h, err := s.NextObjectHeader()
		if err != nil {
			return err
		}
		size, head := uint64(h.Length), limited{&bytes.Buffer{}}
		if size <= gitObjects {
			// This reads no more than the declared size.
			if _, _, err := s.NextObject(&head); err != nil {
				return err
			}
		}
		if h.Type.IsDelta() && size <= gitObjects {
			// The sizes of the delta's base and of its result.
			_, k := binary.Uvarint(head.Bytes())
			made, k2 := binary.Uvarint(head.Bytes()[max(0, k):])
			if k <= 0 || k2 <= 0 {
				return errors.New("the pack has a delta without a size")
			}
			size = max(size, made)
		}
		if sum += size; size > gitObjects || sum > gitObjects {
			return wrong("the repository has more than %d MiB unpacked: use a separate repository for intents", gitObjects>>20)
		}
	}
	return nil
}

// writeTree writes the file of a source, or the YAML files in its folder.
func writeTree(tree *object.Tree, src *v1alpha1.GitSource, commit plumbing.Hash, dir string) (string, error) {
	name := strings.TrimPrefix(path.Clean("/"+src.Path), "/")
	at := filepath.Join(dir, filepath.FromSlash(name))
	folder := tree
	if name != "" {
		e, err := tree.FindEntry(name)
		if err != nil {
			return "", wrong("%s has no %s at %s", src.URL, src.Path, commit)
		}
		if e.Mode != filemode.Dir {
			return at, writeFile(tree, name, e, at)
		}
		if folder, err = tree.Tree(name); err != nil {
			return "", fmt.Errorf("%s: %w", src.Path, err)
		}
	}
	some := false
	for i := range folder.Entries {
		e := &folder.Entries[i]
		if ext := path.Ext(e.Name); e.Mode == filemode.Dir || strings.HasPrefix(e.Name, ".") || ext != ".yaml" && ext != ".yml" {
			continue
		}
		if strings.ContainsAny(e.Name, `/\`) {
			return "", wrong("%s: %q is not a valid file name", src.Path, e.Name)
		}
		some = true
		if err := writeFile(folder, path.Join(name, e.Name), e, filepath.Join(at, e.Name)); err != nil {
			return "", err
		}
	}
	if !some {
		return "", wrong("%s of %s has no file that ends in .yaml or .yml at %s", src.Path, src.URL, commit)
	}
	return at, nil
}

func writeFile(tree *object.Tree, name string, e *object.TreeEntry, at string) error {
	if !e.Mode.IsRegular() && e.Mode != filemode.Executable {
		return wrong("%s is a symbolic link or a submodule, which are not followed", name)
	}
	f, err := tree.TreeEntryFile(e)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	text, err := f.Contents()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600))
}
