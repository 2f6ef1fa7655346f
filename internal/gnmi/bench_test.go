package gnmi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
)

// BenchmarkGet500 dials 500 devices, 32 at a time, reads one table from each and closes. The floor
// does the same with plain gRPC on the same server in the same run; "x-floor" is the ratio.
func BenchmarkGet500(b *testing.B) {
	const targets, workers = 500, 32
	d := newDevice(b, deviceOptions{sockets: true})
	table := `{"Ethernet0|3":{"scheduler":"scheduler.1"}}`
	d.get = echo(func(string) string { return table })
	pem, err := os.ReadFile(d.ca)
	if err != nil {
		b.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	all := func(one func(context.Context) error) time.Duration {
		begin := time.Now()
		g, ctx := errgroup.WithContext(b.Context())
		g.SetLimit(workers)
		for range targets {
			g.Go(func() error { return one(ctx) })
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
		return time.Since(begin)
	}
	floor := func(ctx context.Context) error {
		conn, err := grpc.NewClient(d.addr, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: "127.0.0.1"})))
		if err != nil {
			return err
		}
		defer conn.Close()
		ctx = metadata.AppendToOutgoingContext(ctx, "username", testUser, "password", testPass)
		cl := gpb.NewGNMIClient(conn)
		if _, err := cl.Capabilities(ctx, &gpb.CapabilityRequest{}); err != nil {
			return err
		}
		_, err = cl.Get(ctx, &gpb.GetRequest{Prefix: &gpb.Path{Origin: origin}, Encoding: gpb.Encoding_JSON_IETF, Path: []*gpb.Path{Path{"T"}.wire()}})
		return err
	}
	ours := func(ctx context.Context) error {
		c, err := Dial(ctx, d.config())
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.GetOne(ctx, origin, Path{"T"})
		return err
	}
	var warm sync.Once
	var tf, to time.Duration
	for b.Loop() {
		warm.Do(func() { all(floor); all(ours) })
		tf += all(floor)
		to += all(ours)
	}
	b.ReportMetric(tf.Seconds()/float64(b.N), "floor-s")
	b.ReportMetric(to.Seconds()/float64(b.N), "ours-s")
	b.ReportMetric(to.Seconds()/tf.Seconds(), "x-floor")
}
