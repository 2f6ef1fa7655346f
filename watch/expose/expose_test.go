package expose

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// gauges shows one gauge; with channels each collection says that it began, and waits.
type gauges struct{ begun, wait chan struct{} }

var one = prometheus.NewDesc("roce_fabric_test", "A gauge.", []string{"at"}, nil)

func (gauges) Describe(ch chan<- *prometheus.Desc) { ch <- one }

func (g gauges) Collect(ch chan<- prometheus.Metric) {
	if g.wait != nil {
		g.begun <- struct{}{}
		<-g.wait
	}
	ch <- prometheus.MustNewConstMetric(one, prometheus.GaugeValue, 7, "a\"b\\c\nd")
}

// Prometheus reads the answer, plain and packed, whatever form it would like best.
func TestAnswer(t *testing.T) {
	h := Handler(gauges{})
	for encoding, packed := range map[string]bool{
		"": false, "gzip": true, "zstd, GZIP;q=0.5": true, "deflate": false, "gzip;q=0": false, "gzip; q=0.0, br": false, "identity": false,
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1")
		if encoding != "" {
			r.Header.Set("Accept-Encoding", encoding)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		body := io.Reader(rec.Body)
		if got := rec.Header().Get("Content-Encoding") == "gzip"; got != packed {
			t.Errorf("%q: packed is %v", encoding, got)
		} else if got {
			z, err := gzip.NewReader(body)
			if err != nil {
				t.Fatal(err)
			}
			body = z
		}
		p := expfmt.NewTextParser(model.LegacyValidation)
		families, err := p.TextToMetricFamilies(body)
		if err != nil {
			t.Fatal(err)
		}
		if f := families["roce_fabric_test"]; f == nil || f.GetMetric()[0].GetGauge().GetValue() != 7 || f.GetMetric()[0].GetLabel()[0].GetValue() != "a\"b\\c\nd" || f.GetHelp() != "A gauge." {
			t.Errorf("%q: %v", encoding, f)
		}
		for _, name := range []string{"go_goroutines", "process_start_time_seconds"} {
			if families[name] == nil {
				t.Errorf("%q: there is no %s", encoding, name)
			}
		}
		if got := expfmt.ResponseFormat(rec.Result().Header); got.FormatType() != expfmt.TypeTextPlain {
			t.Errorf("the type is %s", got)
		}
	}
}

// Requests above those that are answered at the same time are refused.
func TestRequestsAreBounded(t *testing.T) {
	begun, wait := make(chan struct{}), make(chan struct{})
	h := Handler(gauges{begun, wait})
	done := make(chan int)
	ask := func() {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
		done <- rec.Code
	}
	for range maxRequests {
		go ask()
		<-begun
	}
	go ask()
	if got := <-done; got != 503 {
		t.Errorf("the status is %d", got)
	}
	close(wait)
	for range maxRequests {
		if got := <-done; got != 200 {
			t.Errorf("the status is %d", got)
		}
	}
	go ask()
	<-begun
	if got := <-done; got != 200 {
		t.Errorf("the status is %d after the others", got)
	}
}

// What cannot be collected is an error, and no part of the metrics.
func TestCollectorThatFails(t *testing.T) {
	rec := httptest.NewRecorder()
	Handler(twice{}).ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	if rec.Code != 500 || !strings.Contains(rec.Body.String(), "collected before with the same name and label values") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// twice shows the same series twice.
type twice struct{ gauges }

func (t twice) Collect(ch chan<- prometheus.Metric) {
	t.gauges.Collect(ch)
	t.gauges.Collect(ch)
}
