package cloudwatch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// maxPages bounds the pages of an answer: each holds up to 100,800 points.
const maxPages = 100

// splits bounds how often a batch that is refused as invalid is asked in halves.
const splits = 32

// answer fills in the series of a batch.
func (r *Reader) answer(ctx context.Context, b batch) {
	budget := splits
	r.ask(ctx, b, &budget)
}

// ask asks a batch. If the service says that some query of it is invalid, the
// halves are asked by themselves: one gate's mistake must not blind the others.
func (r *Reader) ask(ctx context.Context, b batch, budget *int) {
	got := make([]answer, len(b.questions))
	client, err := r.client(ctx, b.region)
	if err == nil {
		err = pages(ctx, client, b, got)
	}
	if half := len(b.questions) / 2; half > 0 && *budget > 0 && isInvalid(err) {
		*budget--
		r.ask(ctx, batch{b.place, b.questions[:half]}, budget)
		r.ask(ctx, batch{b.place, b.questions[half:]}, budget)
		return
	}
	if err != nil {
		cause, _ := blame(err)
		r.options.Logger.WarnContext(ctx, "reading metrics failed",
			"region", b.region, "account", b.account, "metrics", len(b.questions), "why", string(cause), "err", err)
	}
	for i, q := range b.questions {
		q.series = got[i].series(b.place, err)
	}
}

var (
	errRepeats = errors.New("the service names a page that it gave before as the next one")
	errEndless = fmt.Errorf("the answer does not end within %d pages", maxPages)
)

// pages asks page after page.
func pages(ctx context.Context, client *cloudwatch.Client, b batch, got []answer) error {
	in := b.request()
	index := make(map[string]int)
	for i := range b.questions {
		index[id(i)] = i
	}
	seen := make(map[string]bool)
	for range maxPages {
		out, err := client.GetMetricData(ctx, in)
		if err != nil {
			return err
		}
		for _, result := range out.MetricDataResults {
			if i, ok := index[aws.ToString(result.Id)]; ok {
				got[i].add(result)
			}
		}
		for i := range got {
			got[i].note(out.Messages)
		}
		token := aws.ToString(out.NextToken)
		switch {
		case token == "":
			return nil
		case seen[token]:
			return errRepeats
		}
		seen[token] = true
		in.NextToken = out.NextToken
	}
	return errEndless
}

// answer is what came of one series.
type answer struct {
	points []gates.Point
	told   bool             // there was a result
	status types.StatusCode // of the last result; one that is no answer stays
	uneven bool             // times and values do not pair
	notes  string
}

// add takes in a result: a page of the series. That a page is partial is no
// matter if a later one completes it.
func (a *answer) add(r types.MetricDataResult) {
	if !a.told || whole(a.status) {
		a.status = r.StatusCode
	}
	a.told = true
	a.note(r.Messages)
	if len(r.Timestamps) != len(r.Values) {
		a.uneven = true
		return
	}
	for i, at := range r.Timestamps {
		a.points = append(a.points, gates.Point{Start: at.UTC(), Value: r.Values[i]})
	}
}

// whole reports whether points come with a status, or are still to come.
func whole(status types.StatusCode) bool {
	return status == types.StatusCodeComplete || status == types.StatusCodePartialData
}

// note keeps what the service says to a person.
func (a *answer) note(messages []types.MessageData) {
	for _, m := range messages {
		a.notes = join(a.notes, aws.ToString(m.Code)+": "+aws.ToString(m.Value))
	}
}

// series is what is known of the series; err ended the asking.
func (a *answer) series(p place, err error) gates.Series {
	s := gates.Series{Points: a.within(p)}
	switch {
	case a.uneven:
		s.Cause, s.Note = gates.Failed, "the service gave times and values that do not pair"
	case a.told && !whole(a.status):
		s.Cause, s.Note = refused(a.status)
	case err != nil:
		s.Cause, s.Note = blame(err)
	case !a.told:
		s.Cause, s.Note = gates.Failed, "the service answered, but said nothing of this metric"
	case a.status == types.StatusCodePartialData:
		s.Cause, s.Note = gates.Partial, "the service says that points are missing"
	}
	s.Note = short(join(s.Note, a.notes))
	return s
}

// refused says what a status means that is no answer.
func refused(status types.StatusCode) (gates.Cause, string) {
	switch status {
	case types.StatusCodeForbidden:
		return gates.Forbidden, action + " is refused for this metric"
	case types.StatusCodeInternalError:
		return gates.Failed, "the service failed to read this metric"
	default:
		return gates.Failed, fmt.Sprintf("the service answered with the status %q, which is not known", status)
	}
}

// within returns the points of the window, oldest first, one a bucket. The
// service begins at a whole minute, and promises no order.
func (a *answer) within(p place) []gates.Point {
	points := slices.DeleteFunc(slices.Clone(a.points), func(one gates.Point) bool {
		return one.Start.Before(p.start) || !one.Start.Before(p.end)
	})
	slices.SortStableFunc(points, func(a, b gates.Point) int { return a.Start.Compare(b.Start) })
	kept := points[:0]
	for i, one := range points {
		if i+1 == len(points) || !one.Start.Equal(points[i+1].Start) {
			kept = append(kept, one)
		}
	}
	return kept
}
