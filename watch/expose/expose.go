// Package expose answers Prometheus, in the text form of metrics that every version of it
// reads. Package promhttp also has the other forms, and with them what writes protocol
// buffers as text.
package expose

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// maxRequests is how many requests are answered at the same time.
const maxRequests = 4

// Handler serves what a collector shows, with the metrics of the Go runtime and of the
// process.
func Handler(c prometheus.Collector) http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	slots := make(chan struct{}, maxRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			answer(w, r, reg)
		default:
			http.Error(w, "too many requests at the same time", http.StatusServiceUnavailable)
		}
	})
}

func answer(w http.ResponseWriter, r *http.Request, g prometheus.Gatherer) {
	families, err := g.Gather()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	to := io.Writer(w)
	if acceptsGzip(r.Header.Values("Accept-Encoding")) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		to = z
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(to, f); err != nil {
			return // nobody reads on
		}
	}
}

// acceptsGzip reports whether gzip is among the encodings that a client takes, and is not
// refused by a weight of 0.
func acceptsGzip(lists []string) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			name, weight, _ := strings.Cut(one, ";")
			_, q, _ := strings.Cut(weight, "=")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") && strings.Trim(q, " 0.") != "" == (weight != "") {
				return true
			}
		}
	}
	return false
}
