package cloudwatchtest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxBody bounds a request, compressed or not.
const maxBody = 8 << 20

// ServeHTTP answers one request, as faulty as it is to be.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p := protocolOf(r)
	call := Call{
		Operation: p.operation(r, body),
		Protocol:  p.name(),
		Region:    region(r),
		Gzip:      r.Header.Get("Content-Encoding") == "gzip",
	}
	answer := s.prepare(p, body, &call)
	s.onCall(call)
	struck := s.strike()
	for _, f := range struck {
		if f.broken(w, r) {
			return
		}
	}
	for _, f := range struck {
		if no := f.refusal(); no != nil {
			answer = func([]fault) (any, *refusal) { return nil, no }
		}
	}
	out, no := answer(struck)
	w.Header().Set("Content-Type", p.contentType())
	w.Header().Set("X-Amzn-Requestid", requestID)
	if no != nil {
		w.Header().Set("X-Amzn-Query-Error", no.code+";"+no.fault())
		text, err := p.refuse(no)
		send(w, no.status, text, err, nil)
		return
	}
	text, err := p.encode(call.Operation, out)
	send(w, http.StatusOK, text, err, struck)
}

// prepare reads a request, and returns what answers it.
func (s *Server) prepare(p protocol, body []byte, call *Call) func([]fault) (any, *refusal) {
	var in any
	var answer func([]fault) (any, *refusal)
	switch call.Operation {
	case "GetMetricData":
		get := &getMetricDataInput{}
		in, answer = get, func(struck []fault) (any, *refusal) {
			out, no := s.getMetricData(*get)
			if no == nil {
				out.spoil(get, struck)
			}
			return out, no
		}
	case "PutMetricData":
		put := &putMetricDataInput{}
		in, answer = put, func([]fault) (any, *refusal) { return nil, s.putMetricData(*put) }
	case "ListMetrics":
		list := &listMetricsInput{}
		in, answer = list, func([]fault) (any, *refusal) { return s.listMetrics(*list), nil }
	default:
		return refuse(http.StatusBadRequest, "UnknownOperationException", "InvalidAction", "Could not find operation "+call.Operation)
	}
	if err := p.decode(body, in); err != nil {
		return refuse(http.StatusBadRequest, "SerializationException", "MalformedInput", err.Error())
	}
	if get, ok := in.(*getMetricDataInput); ok {
		call.of(get)
	}
	return answer
}

// refuse answers with an error.
func refuse(status int, shape, code, message string) func([]fault) (any, *refusal) {
	return func([]fault) (any, *refusal) { return nil, &refusal{status, shape, code, message} }
}

// of notes what data is asked for.
func (c *Call) of(in *getMetricDataInput) {
	c.ScanBy, c.Start, c.End = in.ScanBy, time.Time(in.StartTime), time.Time(in.EndTime)
	for _, q := range in.MetricDataQueries {
		c.Accounts = append(c.Accounts, q.AccountID)
	}
}

// broken answers with what is no answer of the service, if the fault is such.
func (f fault) broken(w http.ResponseWriter, r *http.Request) bool {
	switch f.Fault {
	case Hang:
		<-r.Context().Done()
	case Hangup:
		panic(http.ErrAbortHandler) // how a handler says to close the connection
	case Empty:
		w.WriteHeader(http.StatusOK)
	case Foreign:
		html(w, http.StatusOK)
	case TooMany:
		html(w, http.StatusTooManyRequests)
	case Unavailable:
		html(w, http.StatusServiceUnavailable)
	default:
		return false
	}
	return true
}

// html answers as something in between does, which is not the service.
func html(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<html><body><h1>%s</h1></body></html>\n", http.StatusText(status))
}

// send writes an answer, or as much of it as faults leave.
func send(w http.ResponseWriter, status int, text []byte, err error, struck []fault) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for _, f := range struck {
		if f.Fault == Truncated {
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		}
		if f.Fault == Truncated || f.Fault == Cut {
			text = text[:len(text)/2]
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that left needs no answer
}

// read reads the body of a request.
func read(r *http.Request) ([]byte, error) {
	var from io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
		if err != nil {
			return nil, fmt.Errorf("reading the request: %w", err)
		}
		if from, err = gzip.NewReader(bytes.NewReader(raw)); err != nil {
			return nil, fmt.Errorf("reading the compressed request: %w", err)
		}
	}
	body, err := io.ReadAll(io.LimitReader(from, maxBody))
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	return body, nil
}

// region tells for which region a request was signed: Credential is
// KEY/DATE/REGION/SERVICE/aws4_request.
func region(r *http.Request) string {
	_, credential, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	scope := strings.Split(credential, "/")
	if len(scope) < 3 {
		return ""
	}
	return scope[2]
}
