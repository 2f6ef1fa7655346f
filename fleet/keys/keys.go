// Package keys signs plans and journals, which are files that anyone may have edited,
// and tells whose signatures are believed.
//
// Keys are Ed25519, in the PEM forms that openssl reads and writes: PKCS #8 for the
// private one, SPKI for public ones. Do not use a key of this package for anything
// else: a signature names what was signed, but a key has no such bound.
package keys

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// The files of a key in a folder.
const (
	privateFile = "key.pem"
	publicFile  = "key.pub"
)

// maxFile bounds a file of keys.
const maxFile = 64 << 10

// The faults of a signature.
var (
	ErrUnsigned = errors.New("it is not signed")
	ErrBad      = errors.New("its signature does not fit: it was edited")
	ErrUnknown  = errors.New("it is signed with an unknown key")
)

// Ring is the key of this user and the public keys of others that are trusted. Its own
// key is trusted.
type Ring struct {
	own     ed25519.PrivateKey // nil for none yet
	dir     string             // where it is made; "" for nowhere
	trusted map[string]bool    // public keys
}

// Open reads the key of a folder, which must be as private as a secret. Where there is
// none, [Ring.Ensure] makes one.
func Open(dir string) (*Ring, error) {
	path := filepath.Join(dir, privateFile)
	b, err := secret.ReadOwn(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return &Ring{dir: dir, trusted: map[string]bool{}}, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// None is a ring without a key, which believes nobody.
func None() *Ring { return &Ring{trusted: map[string]bool{}} }

// Ensure makes the key of the folder where there is none, with mode 0600, and its
// public half next to it.
func (r *Ring) Ensure() error {
	switch {
	case r.own != nil:
		return nil
	case r.dir == "":
		return errors.New("there is no key to sign with")
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	if err := secret.CheckFolder(r.dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(r.dir, ".key-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // a name of the key too many
	err = pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	// Those that begin at once end with one key.
	if err := os.Link(f.Name(), filepath.Join(r.dir, privateFile)); errors.Is(err, fs.ErrExist) {
		first, err := Open(r.dir)
		if err == nil {
			r.adopt(first.own)
		}
		return err
	} else if err != nil {
		return err
	}
	r.adopt(private)
	return writePublic(filepath.Join(r.dir, publicFile), public)
}

func (r *Ring) adopt(private ed25519.PrivateKey) {
	r.own = private
	r.trusted[string(private.Public().(ed25519.PublicKey))] = true
}

func writePublic(path string, public ed25519.PublicKey) error {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644)
}

// Parse reads a private key in PEM.
func Parse(text []byte) (*Ring, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no private key in PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("not an Ed25519 key in PKCS #8")
	}
	r := None()
	r.adopt(private)
	return r, nil
}

// Trust adds the public keys of a file, in PEM.
func (r *Ring) Trust(path string) error {
	rest, err := boundedfile.Read(path, maxFile)
	if err != nil {
		return err
	}
	n := 0
	for block, rest := pem.Decode(rest); block != nil; block, rest = pem.Decode(rest) {
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		public, ok := key.(ed25519.PublicKey)
		if err != nil || !ok {
			return fmt.Errorf("%s: not an Ed25519 public key", path)
		}
		r.trusted[string(public)] = true
		n++
	}
	if n == 0 {
		return fmt.Errorf("%s: no public key in PEM", path)
	}
	return nil
}

// Sign signs text of a kind: "public key:signature" in base64. [Ring.Ensure] must have
// been called.
func (r *Ring) Sign(kind string, text []byte) string {
	return encode(r.own.Public().(ed25519.PublicKey)) + ":" + encode(ed25519.Sign(r.own, message(kind, text)))
}

// Verify returns an error unless text of a kind was signed with a trusted key:
// [ErrUnsigned], [ErrBad] or [ErrUnknown], which names the key.
func (r *Ring) Verify(kind string, text []byte, signature string) error {
	if signature == "" {
		return ErrUnsigned
	}
	a, b, _ := strings.Cut(signature, ":")
	public, err1 := base64.StdEncoding.DecodeString(a)
	sig, err2 := base64.StdEncoding.DecodeString(b)
	if err1 != nil || err2 != nil || len(public) != ed25519.PublicKeySize || !ed25519.Verify(public, message(kind, text), sig) {
		return ErrBad
	}
	if !r.trusted[string(public)] {
		return fmt.Errorf("%w, %s", ErrUnknown, Fingerprint(signature))
	}
	return nil
}

// Fingerprint names the key of a signature; "" for none.
func Fingerprint(signature string) string {
	a, _, _ := strings.Cut(signature, ":")
	public, err := base64.StdEncoding.DecodeString(a)
	if err != nil || len(public) == 0 {
		return ""
	}
	sum := sha256.Sum256(public)
	return "key " + hex.EncodeToString(sum[:8])
}

// message is what is signed: a signature of one kind is none of another.
func message(kind string, text []byte) []byte {
	return append([]byte("roce-fabric "+kind+"\n"), text...)
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
