// Package keys signs plans and journals, because anyone may have edited these files, and
// verifies signatures against a set of trusted keys.
//
// Keys are Ed25519 in the PEM formats of openssl: PKCS #8 for the private key, SPKI for
// public keys. Do not use a key of this package for anything else: a signature here covers
// the kind of text that was signed, but signatures made elsewhere with the same key may not.
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

// Names of the key files in a folder.
const (
	privateFile = "key.pem"
	publicFile  = "key.pub"
)

// maxFile is the maximum size of a file of public keys in bytes.
const maxFile = 64 << 10

// Errors of [Ring.Verify].
var (
	ErrUnsigned = errors.New("it is not signed")
	ErrBad      = errors.New("its signature is invalid: it was edited")
	ErrUnknown  = errors.New("it is signed with an unknown key")
)

// Ring holds the key of this user and the trusted public keys of others. Its own key is
// trusted too.
type Ring struct {
	own     ed25519.PrivateKey // nil if there is none yet
	dir     string             // folder where Ensure creates the key; "" if it cannot
	trusted map[string]bool    // raw public keys
}

// Open reads the key in a folder; the file must be as private as a secret. If there is no
// key, [Ring.Ensure] creates one.
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

// None returns a ring without a key that trusts nobody.
func None() *Ring { return &Ring{trusted: map[string]bool{}} }

// Ensure creates the key in the ring's folder if there is none, with mode 0600, and writes
// the public key next to it.
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
	defer func() { _ = os.Remove(f.Name()) }() // the temporary name
	err = pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	// Of several processes that create a key at once, the first wins and all use its key.
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

// Parse parses a private key in PEM.
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

// Trust adds the public keys of a PEM file to the trusted keys.
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

// Sign signs text of a kind and returns "PUBLIC KEY:SIGNATURE", both in base64.
// [Ring.Ensure] must have been called.
func (r *Ring) Sign(kind string, text []byte) string {
	return encode(r.own.Public().(ed25519.PublicKey)) + ":" + encode(ed25519.Sign(r.own, message(kind, text)))
}

// Verify returns an error unless signature is that of a trusted key for text of this kind.
// The error is [ErrUnsigned], [ErrBad], or [ErrUnknown] with the name of the key.
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

// Fingerprint returns a short name of the key of a signature, or "" if it has none.
func Fingerprint(signature string) string {
	a, _, _ := strings.Cut(signature, ":")
	public, err := base64.StdEncoding.DecodeString(a)
	if err != nil || len(public) == 0 {
		return ""
	}
	sum := sha256.Sum256(public)
	return "key " + hex.EncodeToString(sum[:8])
}

// message returns the bytes to sign. They include the kind, so that a signature for one
// kind is not valid for another.
func message(kind string, text []byte) []byte {
	return append([]byte("roce-fabric "+kind+"\n"), text...)
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
