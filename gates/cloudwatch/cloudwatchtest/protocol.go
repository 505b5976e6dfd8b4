package cloudwatchtest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// protocol is one way to write requests and answers.
type protocol interface {
	name() string
	contentType() string
	operation(r *http.Request, body []byte) string
	decode(body []byte, in any) error
	// encode writes the answer to an operation; out is nil where it has none.
	encode(operation string, out any) ([]byte, error)
	refuse(r *refusal) ([]byte, error)
}

// protocolOf tells in which way a request is written.
func protocolOf(r *http.Request) protocol {
	switch {
	case r.Header.Get("Smithy-Protocol") == "rpc-v2-cbor":
		return rpcv2Cbor{}
	case r.Header.Get("X-Amz-Target") != "":
		return awsJSON{}
	default:
		return awsQuery{}
	}
}

// rpcv2Cbor names the operation in the path.
type rpcv2Cbor struct{}

func (rpcv2Cbor) name() string        { return "rpcv2Cbor" }
func (rpcv2Cbor) contentType() string { return "application/cbor" }

func (rpcv2Cbor) operation(r *http.Request, _ []byte) string { return path.Base(r.URL.Path) }

func (rpcv2Cbor) decode(body []byte, in any) error { return cbor.Unmarshal(body, in) }

func (rpcv2Cbor) encode(_ string, out any) ([]byte, error) {
	if out == nil {
		out = struct{}{}
	}
	mode, err := cbor.EncOptions{NilContainers: cbor.NilContainerAsEmpty}.EncMode()
	if err != nil {
		return nil, err
	}
	return mode.Marshal(out)
}

func (rpcv2Cbor) refuse(r *refusal) ([]byte, error) {
	return cbor.Marshal(map[string]string{"__type": "com.amazonaws.cloudwatch#" + r.shape, r.messageKey(): r.message})
}

// awsJSON is awsJson1_0, which names the operation in a header.
type awsJSON struct{}

func (awsJSON) name() string        { return "awsJson1_0" }
func (awsJSON) contentType() string { return "application/x-amz-json-1.0" }

func (awsJSON) operation(r *http.Request, _ []byte) string {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return operation
}

func (awsJSON) decode(body []byte, in any) error { return json.Unmarshal(body, in) }

func (awsJSON) encode(_ string, out any) ([]byte, error) {
	if out == nil {
		out = struct{}{}
	}
	return json.Marshal(out)
}

func (awsJSON) refuse(r *refusal) ([]byte, error) {
	return json.Marshal(map[string]string{"__type": "com.amazonaws.cloudwatch#" + r.shape, r.messageKey(): r.message})
}

// awsQuery is a form, which holds the operation too, and is answered in XML.
type awsQuery struct{}

const (
	xmlNamespace = "http://monitoring.amazonaws.com/doc/2010-08-01/"
	requestID    = "00000000-0000-4000-8000-000000000001"
)

func (awsQuery) name() string        { return "awsQuery" }
func (awsQuery) contentType() string { return "text/xml" }

func (awsQuery) operation(_ *http.Request, body []byte) string {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return ""
	}
	return form.Get("Action")
}

func (awsQuery) decode(body []byte, in any) error {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return fmt.Errorf("reading the form: %w", err)
	}
	return decodeForm(form, in)
}

func (awsQuery) encode(operation string, out any) ([]byte, error) {
	var b bytes.Buffer
	e := xml.NewEncoder(&b)
	fmt.Fprintf(&b, `<%sResponse xmlns="%s">`, operation, xmlNamespace)
	if out != nil {
		if err := e.EncodeElement(out, xml.StartElement{Name: xml.Name{Local: operation + "Result"}}); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(&b, `<ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></%sResponse>`, requestID, operation)
	return b.Bytes(), nil
}

func (awsQuery) refuse(r *refusal) ([]byte, error) {
	type fault struct{ Type, Code, Message string }
	return xml.Marshal(struct {
		XMLName   xml.Name `xml:"http://monitoring.amazonaws.com/doc/2010-08-01/ ErrorResponse"`
		Error     fault
		RequestID string `xml:"RequestId"`
	}{Error: fault{r.fault(), r.code, r.message}, RequestID: requestID})
}
