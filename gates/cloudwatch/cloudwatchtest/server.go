package cloudwatchtest

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// Options say how a server is. The zero value serves.
type Options struct {
	Now    func() time.Time // tells the time; nil means time.Now
	OnCall func(Call)       // hears of each request before it is answered, from many goroutines
	Page   int              // points that a page holds unless less is asked for; 0 means 100,800
}

// Call is a request that came.
type Call struct {
	Operation string // GetMetricData, PutMetricData or ListMetrics
	Protocol  string // rpcv2Cbor, awsJson1_0 or awsQuery
	Region    string // that it was signed for
	Gzip      bool   // its body came compressed

	// Of GetMetricData:
	Accounts   []string // that its queries name, one for each
	ScanBy     string
	Start, End time.Time
}

// Server is a stand-in for CloudWatch.
type Server struct {
	URL string // where it answers

	now     func() time.Time
	onCall  func(Call)
	page    int
	http    *http.Server
	serving sync.WaitGroup

	mu     sync.Mutex
	series map[string]*series
	faults []fault
}

// New starts a server on a free port of 127.0.0.1. Like httptest.NewServer it
// panics where no port can be had.
func New(o Options) *Server {
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		panic(fmt.Sprintf("cloudwatchtest: listening on loopback: %v", err))
	}
	s := &Server{
		URL:    "http://" + listener.Addr().String(),
		now:    o.Now,
		onCall: o.OnCall,
		page:   cmp.Or(o.Page, maxDatapoints),
		series: make(map[string]*series),
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.onCall == nil {
		s.onCall = func(Call) {}
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.serving.Go(func() { _ = s.http.Serve(listener) }) // its error says that it was closed
	return s
}

// Close ends the server and the requests that hang in it.
func (s *Server) Close() {
	_ = s.http.Close() // its error is the listener's, which is gone either way
	s.serving.Wait()
}

// Set gives a series these points, in place of those that it had. Each is the
// statistic of a bucket of the metric's period (a minute, if it has none).
func (s *Server) Set(m gates.Metric, points ...gates.Point) {
	s.edit(m, func(of *series) {
		of.compute, of.samples = nil, nil
		for _, p := range points {
			of.samples = append(of.samples, one(p.Start, of.period, p.Value))
		}
	})
}

// Func has a series computed when it is asked for: f is given the start of each
// bucket of the metric's period (a minute, if it has none) that has begun, and
// says its statistic, or that it has none.
func (s *Server) Func(m gates.Metric, f func(start time.Time) (value float64, ok bool)) {
	s.edit(m, func(of *series) { of.compute, of.samples = f, nil })
}

// Add gives a series further samples: what PutMetricData does. Several at one
// time are what several nodes report.
func (s *Server) Add(m gates.Metric, samples ...Sample) {
	s.edit(m, func(of *series) {
		for _, added := range samples {
			of.samples = append(of.samples, added.sample())
		}
	})
}

// Publish says how the points of a series come to be seen.
func (s *Server) Publish(m gates.Metric, p Publishing) {
	s.edit(m, func(of *series) { of.publishing = p })
}

// edit changes a series, which it makes if there is none.
func (s *Server) edit(m gates.Metric, change func(*series)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.find(name(m), m.Period))
}

// find returns a series, which it makes if there is none.
func (s *Server) find(n named, period time.Duration) *series {
	of := s.series[n.key()]
	if of == nil {
		of = &series{named: n}
		s.series[n.key()] = of
	}
	if period > 0 || of.period == 0 {
		of.period = max(period, 0)
	}
	if of.period == 0 {
		of.period = time.Minute
	}
	return of
}
