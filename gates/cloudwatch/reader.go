package cloudwatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"golang.org/x/sync/errgroup"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// Options say how to read. The zero value reads the account and region that the
// environment names, as every AWS tool does.
type Options struct {
	Region      string                  // of metrics that name none; empty means the environment's
	Endpoint    string                  // asked in place of AWS's own
	Credentials aws.CredentialsProvider // nil means the environment's

	// CrossAccount asks for each metric in the account that it names, which works
	// from a monitoring account. Otherwise all are read in the account of the
	// credentials, whatever they name.
	CrossAccount bool

	Attempt  time.Duration // how long one attempt may take; 0 means 5 s
	Deadline time.Duration // how long a reading may take with all its attempts; 0 means 20 s
	Pause    time.Duration // the longest pause before another attempt; 0 means 2 s

	Logger *slog.Logger // nil logs nothing
}

const (
	attempts = 3 // at one request
	parallel = 8 // requests at once; the service allows 50 a second
)

// Reader reads series. It may be used by many at once.
type Reader struct {
	options Options
	http    *awshttp.BuildableClient

	mu      sync.Mutex
	config  *aws.Config // once it was loaded
	clients map[string]*cloudwatch.Client
}

// New returns a reader. It asks nobody until it reads.
func New(o Options) *Reader {
	o.Attempt = cmp.Or(o.Attempt, 5*time.Second)
	o.Deadline = cmp.Or(o.Deadline, 20*time.Second)
	o.Pause = cmp.Or(o.Pause, 2*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Reader{
		options: o,
		http:    awshttp.NewBuildableClient().WithTimeout(o.Attempt),
		clients: make(map[string]*cloudwatch.Client),
	}
}

// Read returns a series for each metric, in their order: the points whose
// buckets start in [from, to), oldest first. A series that is not whole has a
// cause, and what came of it all the same. Equal metrics are asked for once.
func (r *Reader) Read(ctx context.Context, metrics []gates.Metric, from, to time.Time) []gates.Series {
	ctx, cancel := context.WithTimeout(ctx, r.options.Deadline)
	defer cancel()
	asked := make(map[string]*question)
	var questions []*question
	for _, m := range metrics {
		id := m.ID()
		if asked[id] == nil {
			asked[id] = &question{metric: m}
			questions = append(questions, asked[id])
		}
	}
	var requests errgroup.Group // none fails: what goes wrong is in the series
	requests.SetLimit(parallel)
	for _, b := range r.batches(questions, from, to) {
		requests.Go(func() error {
			r.answer(ctx, b)
			return nil
		})
	}
	_ = requests.Wait()
	series := make([]gates.Series, len(metrics))
	for i, m := range metrics {
		series[i] = asked[m.ID()].series
	}
	return series
}

// client returns the client of a region; none means the environment's.
func (r *Reader) client(ctx context.Context, region string) (*cloudwatch.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[region]; c != nil {
		return c, nil
	}
	if r.config == nil {
		options := []func(*config.LoadOptions) error{config.WithLogger(sdkLog(r.options.Logger))}
		if r.options.Credentials != nil {
			options = append(options, config.WithCredentialsProvider(r.options.Credentials))
		}
		loaded, err := config.LoadDefaultConfig(ctx, options...)
		if err != nil {
			return nil, fmt.Errorf("loading the AWS configuration: %w", err)
		}
		r.config = &loaded
	}
	in := cmp.Or(region, r.config.Region)
	if in == "" {
		return nil, errNoRegion
	}
	c := cloudwatch.NewFromConfig(*r.config, func(o *cloudwatch.Options) {
		o.Region = in
		o.HTTPClient = r.http
		o.Retryer = retry.NewStandard(r.retries)
		o.DisableRequestCompression = true // not all that stands in for the service reads it
		if r.options.Endpoint != "" {
			o.BaseEndpoint = &r.options.Endpoint
		}
	})
	r.clients[region] = c
	return c, nil
}

// sdkLog takes what the SDK would print by itself: what matters of it comes back
// as an error too.
func sdkLog(to *slog.Logger) logging.Logger {
	return logging.LoggerFunc(func(_ logging.Classification, format string, args ...any) {
		to.Debug("the AWS SDK says", "why", fmt.Sprintf(format, args...))
	})
}

var errNoRegion = errors.New("no region: neither the metric nor the environment names one")

// retries has an answer that cannot be read asked for again, which the SDK by
// itself does not.
func (r *Reader) retries(o *retry.StandardOptions) {
	o.MaxAttempts = attempts
	o.MaxBackoff = r.options.Pause
	o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
		if _, ok := errors.AsType[*smithy.DeserializationError](err); ok {
			return aws.TrueTernary
		}
		return aws.UnknownTernary
	}))
}
