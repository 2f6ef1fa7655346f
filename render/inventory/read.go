package inventory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// Reader collects files.
type Reader struct {
	store
	bytes, objects int
	files          int
	// pages counts, for each kind, the pages that have a next page and those that have a previous
	// one.
	pages map[string]*pageCount
	// peers holds the devices that structured configurations name.
	peers ordered.Map[string, device]
}

type pageCount struct {
	following, preceded int
	open                place // the first page that has a next one
	have                int
	want                number
}

// NewReader returns a reader without files.
func NewReader() *Reader {
	return &Reader{pages: map[string]*pageCount{}, store: store{named: map[string]ref{}}}
}

// Add adds a file. The reader does not retain data. Errors are of type [*Error].
func (r *Reader) Add(name string, data []byte) error {
	at := place{file: name}
	r.bytes += len(data)
	switch {
	case len(data) > MaxFile:
		return faultf(at, "", "larger than %d MiB", MaxFile>>20)
	case r.bytes > MaxBytes:
		return faultf(at, "", "all files together are larger than %d MiB", MaxBytes>>20)
	}
	r.files++
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	t := bytes.TrimLeft(data, " \t\r\n")
	switch {
	case len(t) == 0:
		return faultf(at, "", "the file is empty")
	case t[0] == '{' || t[0] == '[':
		return r.addJSON(name, data)
	}
	return r.addYAML(name, data)
}

// addYAML adds a containerlab topology or a structured configuration of AVD.
func (r *Reader) addYAML(name string, data []byte) error {
	if avdFile.Match(data) {
		root, errs := yaml.Parse(name, data)
		if len(errs) > 0 {
			return errs[0]
		}
		return r.addAVD(name, root)
	}
	return r.addClab(name, data)
}

// avdFile matches keys that no containerlab topology has.
var avdFile = lazyre.New(`(?m)^(ethernet_interfaces|management_interfaces|hostname):`)

// stream reads the lists of one file.
type stream struct {
	r     *Reader
	dec   *json.Decoder
	data  []byte
	name  string
	line  int // line at data[upTo]
	upTo  int
	found bool // a list was found
}

func (r *Reader) addJSON(name string, data []byte) error {
	s := &stream{r: r, dec: json.NewDecoder(bytes.NewReader(data)), data: data, name: name, line: 1}
	for {
		tok, err := s.dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			switch tok {
			case json.Delim('{'):
				err = s.object("", "", 1)
			case json.Delim('['):
				err = s.list("", "")
			default:
				err = errors.New("not a list of objects")
			}
		}
		if err != nil {
			return s.fault("", err)
		}
	}
	if !s.found {
		return faultf(place{file: name}, "write what the API answers, such as that of /api/dcim/devices/?limit=0, to a file",
			"the file holds no list of devices, interfaces or cables")
	}
	return nil
}

// at moves to an offset and returns its line.
func (s *stream) at(offset int64) int {
	end := min(max(int(offset), s.upTo), len(s.data))
	// Skip the comma and white space between two elements.
	for end < len(s.data) && strings.IndexByte(", \t\r\n", s.data[end]) >= 0 {
		end++
	}
	s.line += bytes.Count(s.data[s.upTo:end], []byte("\n"))
	s.upTo = end
	return s.line
}

// fault adds the place to an error.
func (s *stream) fault(path string, err error) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return err
	}
	msg := err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		msg = "the file ends too early"
	}
	if path != "" {
		msg = path + ": " + msg
	}
	return faultf(place{file: s.name, line: s.at(s.dec.InputOffset())}, "", "%s", msg)
}

// object reads an object that contains lists: a page, a GraphQL answer, or named lists. The opening
// brace has already been read.
func (s *stream) object(path, hint string, depth int) error {
	const most = 4 // {"data": {"devices": {"results": [
	if depth > most {
		return s.fault(path, errors.New("lists are nested too deep"))
	}
	var p page
	line := s.at(s.dec.InputOffset())
	before := s.r.total()
	for s.dec.More() {
		tok, err := s.dec.Token()
		if err != nil {
			return s.fault(path, err)
		}
		key, _ := tok.(string)
		sub := strings.TrimPrefix(path+"."+key, ".")
		switch key {
		case "count":
			err = s.dec.Decode(&p.Count)
		case "next":
			err = s.dec.Decode(&p.Next)
		case "previous":
			err = s.dec.Decode(&p.Previous)
		case "errors":
			var l []struct{ Message text }
			if raw := (json.RawMessage{}); s.dec.Decode(&raw) == nil && json.Unmarshal(raw, &l) == nil && len(l) > 0 {
				return faultf(place{file: s.name, line: line}, "", "the file holds an answer that failed: %.200s", string(l[0].Message))
			}
		default:
			known := listKind(key)
			if !(key == "results" || key == "data" || known != "" && known != kindOther || s.lists()) {
				var skip json.RawMessage
				err = s.dec.Decode(&skip)
				break
			}
			if tok, err = s.dec.Token(); err != nil {
				break
			}
			switch tok {
			case json.Delim('['):
				err = s.list(sub, cmp.Or(known, hint))
			case json.Delim('{'):
				err = s.object(sub, cmp.Or(known, hint), depth+1)
			}
		}
		if err != nil {
			return s.fault(sub, err)
		}
	}
	if _, err := s.dec.Token(); err != nil { // }
		return s.fault(path, err)
	}
	s.r.page(p, place{file: s.name, line: line}, s.r.last, s.r.total()-before)
	return nil
}

// lists reports whether the next value is a list.
func (s *stream) lists() bool {
	rest := s.data[min(int(s.dec.InputOffset()), len(s.data)):]
	return bytes.HasPrefix(bytes.TrimLeft(rest, ": \t\r\n"), []byte("["))
}

// list reads a list of objects or of pages. The opening bracket has already been read.
func (s *stream) list(path, hint string) error {
	if hint == kindOther || hint == "results" {
		hint = ""
	}
	s.found = true
	name := cmp.Or(path, "list")
	for i := 0; s.dec.More(); i++ {
		at := place{file: s.name, line: s.at(s.dec.InputOffset()), list: name, i: i}
		var o object
		if err := s.dec.Decode(&o); err != nil {
			if e := (*json.UnmarshalTypeError)(nil); errors.As(err, &e) {
				err = errors.New("an object is expected, not a " + e.Value)
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = errors.New("the file ends in the middle of it")
			}
			return faultf(at, "", "%s", err)
		}
		if err := s.r.take(&o, at, hint); err != nil {
			return err
		}
	}
	_, err := s.dec.Token() // ]
	return err
}

// take stores an object, or the objects of a page.
func (r *Reader) take(o *object, at place, hint string) error {
	if o.Results != nil {
		before := r.total()
		for i := range o.Results {
			in := at
			in.list, in.i = at.String()[len(at.file):]+" results", i
			in.list = strings.TrimSpace(strings.TrimLeft(in.list, ":0123456789"))
			if err := r.take(&o.Results[i], in, hint); err != nil {
				return err
			}
		}
		r.page(o.page, at, r.last, r.total()-before)
		return nil
	}
	if r.objects++; r.objects > maxObjects {
		return faultf(at, "filter the export by site or role", "all files together hold more than %d objects", maxObjects)
	}
	r.add(o, at, hint)
	return nil
}

// page records the paging information of a list.
func (r *Reader) page(p page, at place, kind string, n int) {
	if p.Count == 0 && p.Next == "" && p.Previous == "" || kind == "" {
		return
	}
	c := r.pages[kind]
	if c == nil {
		c = &pageCount{}
		r.pages[kind] = c
	}
	c.have += n
	c.want = max(c.want, p.Count)
	if p.Next != "" {
		if c.following++; c.following == 1 {
			c.open = at
		}
	}
	if p.Previous != "" {
		c.preceded++
	}
}

// incomplete returns an error if a page of a list is missing from the files.
func (r *Reader) incomplete() error {
	for _, kind := range []string{kindDevice, kindInterface, kindCable, kindFront, kindRear} {
		if c := r.pages[kind]; c != nil && c.following > c.preceded {
			return faultf(c.open, "give every page of the list; docs/inventory.md shows how",
				"a list of %s has a next page that is not among the files: %d of %s are here", kind, c.have, words.Count(int(c.want), "object"))
		}
	}
	return nil
}
