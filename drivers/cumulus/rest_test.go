package cumulus

import "testing"

// An error page of the web server in front of NVUE is reported by its title.
func TestDetailOfAnAnswer(t *testing.T) {
	for answer, want := range map[string]string{
		`{"title": "Bad Request", "detail": "no such revision"}`:                                    "no such revision",
		`{"title": "Not Found"}`:                                                                    "Not Found",
		"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502</h1></body></html>": "502 Bad Gateway",
		" busy\n": "busy",
	} {
		if got := detail([]byte(answer)); got != want {
			t.Errorf("%q is %q, want %q", answer, got, want)
		}
	}
}

// A startup configuration that was never saved is empty, which is not an error.
func TestAnEmptyConfiguration(t *testing.T) {
	for text, ok := range map[string]bool{"{}": true, "null": true, `{"qos": {}}`: true, `{"answer": 1}`: false, "[]": false} {
		if c, err := tree([]byte(text)); (err == nil) != ok || ok && c.Tree == nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Another user's finished dry run does not block an apply; an unknown state does.
func TestActiveRunIsNamed(t *testing.T) {
	for state, want := range map[string]bool{"dry_run_complete": false, "ays_fail": false, "invalid": false, "pending": false, "confirm": true, "apply": true, "ays": true, "of-tomorrow": true} {
		if got := (revision{State: state}).busy(); got != want {
			t.Errorf("%s: %v", state, got)
		}
	}
}
