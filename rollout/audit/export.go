package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// format is what an export says that it is.
const format = "cutover audit export"

// longestLine is how many bytes a line of an export may have.
const longestLine = 64 << 20

// Header is the first line of an export: what is to come.
type Header struct {
	After Checkpoint  // the events begin after it
	Last  int64       // place of the last event, as the head row has it
	Tail  *Checkpoint // what the head row remembers of it, if it does
}

// The lines of an export: a header, events, and a checkpoint at the end.
type (
	headerLine struct {
		Format  string      `json:"format"`
		Version int         `json:"version"`
		After   Checkpoint  `json:"after"`
		Last    int64       `json:"last"`
		Tail    *Checkpoint `json:"tail,omitempty"`
	}
	endLine struct {
		Checkpoint *Checkpoint `json:"checkpoint"`
	}
	anyLine struct {
		Record
		End *Checkpoint `json:"checkpoint"`
	}
)

// WriteExport writes records as they come, whether they hold or not, and returns
// the checkpoint at the last of them, which is also the last line.
func WriteExport(w io.Writer, h Header, records iter.Seq2[Record, error]) (Checkpoint, error) {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	last := h.After
	last.Version = Version
	if err := out.Encode(headerLine{Format: format, Version: Version, After: last, Last: h.Last, Tail: h.Tail}); err != nil {
		return last, fmt.Errorf("writing the header: %w", err)
	}
	for r, err := range records {
		if err != nil {
			return last, err
		}
		if err := out.Encode(&r); err != nil {
			return last, fmt.Errorf("writing the event at place %d: %w", r.Place, err)
		}
		last = r.Checkpoint()
	}
	if err := out.Encode(endLine{Checkpoint: &last}); err != nil {
		return last, fmt.Errorf("writing the checkpoint: %w", err)
	}
	return last, nil
}

// Export is an export that is read.
type Export struct {
	Header
	in   *bufio.Reader
	line int
	last int64       // place of the last event that was read
	end  *Checkpoint // once it was read
}

// Read reads the header of an export; the rest is read by its methods.
func Read(r io.Reader) (*Export, error) {
	x := &Export{in: bufio.NewReaderSize(r, 64<<10)}
	text, err := x.read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the export: %w", err)
	}
	var h headerLine
	if json.Unmarshal(text, &h) != nil || h.Format != format {
		return nil, fmt.Errorf("line 1 is not that of a %s", format)
	}
	if h.Version != Version {
		return nil, fmt.Errorf("the export is of version %d: this program knows version %d", h.Version, Version)
	}
	if err := h.After.check(); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	if h.Tail != nil {
		if err := h.Tail.check(); err != nil {
			return nil, fmt.Errorf("line 1: %w", err)
		}
	}
	if h.Last < h.After.Place {
		return nil, fmt.Errorf("line 1: the last place is %d, before the first, %d", h.Last, h.After.Place+1)
	}
	x.Header, x.last = Header{After: h.After, Last: h.Last, Tail: h.Tail}, h.After.Place
	return x, nil
}

// VerifyExport verifies an export with nothing else at hand but checkpoints that
// were kept elsewhere.
func VerifyExport(r io.Reader, checkpoints ...Checkpoint) (Result, error) {
	x, err := Read(r)
	if err != nil {
		return Result{}, err
	}
	return x.Verify(checkpoints...)
}

// Verify verifies the events, and that the checkpoint at the end is theirs.
func (x *Export) Verify(checkpoints ...Checkpoint) (Result, error) {
	result, err := Verify(x.Records(), Chain{After: x.After, Last: x.Last, Tail: x.Tail, Checkpoints: checkpoints})
	if err != nil || result.Damage != nil {
		return result, err
	}
	if x.end.Place != result.Checkpoint.Place || !same(x.end.Hash, result.Checkpoint.Hash) {
		result.Damage = &Damage{
			Kind: Rewritten, Place: result.Checkpoint.Place,
			Why: fmt.Sprintf("the checkpoint at the end of the export, %s, is not that of its last event", x.end),
		}
	}
	return result, nil
}

// Records reads the events. What cannot be read is a [Damage]; so is an end
// without a checkpoint.
func (x *Export) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for x.end == nil {
			r, err := x.next()
			if err == nil && x.end != nil {
				break
			}
			if !yield(r, err) || err != nil {
				return
			}
			x.last = r.Place
		}
		if text, err := x.read(); len(text) > 0 || !errors.Is(err, io.EOF) {
			if len(text) > 0 {
				err = Damage{Kind: Extra, Place: x.last + 1, Why: fmt.Sprintf("line %d stands after the checkpoint, which is the last line", x.line)}
			}
			yield(Record{}, err)
		}
	}
}

// Complete reads the rest, whatever it is, and reports whether the export came
// to its end: the checkpoint.
func (x *Export) Complete() (bool, error) {
	for x.end == nil {
		text, err := x.read()
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if _, bad := x.take(text); bad != nil && err != nil {
			return false, nil
		}
	}
	_, err := io.Copy(io.Discard, x.in)
	return true, err
}

// next reads an event, or the end.
func (x *Export) next() (Record, error) {
	text, end := x.read()
	if end != nil && !errors.Is(end, io.EOF) {
		return Record{}, fmt.Errorf("reading the export after line %d: %w", x.line, end)
	}
	r, err := x.take(text)
	switch {
	case end != nil && x.end == nil:
		return r, Damage{Kind: Cut, Place: x.last + 1, Why: "the export ends without its checkpoint: it was cut off, or never written to its end"}
	case err != nil:
		return r, Damage{Kind: Unreadable, Place: x.last + 1, Why: fmt.Sprintf("line %d of the export cannot be read: %v", x.line, err)}
	}
	return r, nil
}

// take makes an event of a line, or notes the end.
func (x *Export) take(text []byte) (Record, error) {
	var line anyLine
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&line); err != nil {
		return line.Record, err
	}
	if in.More() {
		return line.Record, errors.New("there is more than one thing on it")
	}
	if line.End == nil {
		if line.Place < 1 || line.Body == "" {
			return line.Record, errors.New("it is neither an event nor a checkpoint")
		}
		return line.Record, nil
	}
	if err := line.End.check(); err != nil {
		return line.Record, err
	}
	x.end = line.End
	return line.Record, nil
}

// read reads a line. The end may come with the beginning of one.
func (x *Export) read() ([]byte, error) {
	var line []byte
	for {
		part, err := x.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			x.line++
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if len(line) > 0 {
				x.line++
			}
			return line, err
		case len(line) > longestLine:
			return nil, fmt.Errorf("line %d is longer than %d MiB", x.line+1, longestLine>>20)
		}
	}
}

// ReadCheckpoint reads a checkpoint from the last line of a text: as PLACE:HASH,
// as JSON, or as the end of an export.
func ReadCheckpoint(r io.Reader) (Checkpoint, error) {
	x := &Export{in: bufio.NewReaderSize(r, 64<<10)}
	var last []byte
	for {
		line, err := x.read()
		if err != nil && !errors.Is(err, io.EOF) {
			return Checkpoint{}, fmt.Errorf("reading the checkpoint: %w", err)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			last = text
		}
		if err != nil {
			break
		}
	}
	var line struct {
		Checkpoint
		End *Checkpoint `json:"checkpoint"`
	}
	if !bytes.HasPrefix(last, []byte("{")) {
		return ParseCheckpoint(string(last))
	}
	if err := json.Unmarshal(last, &line); err != nil {
		return Checkpoint{}, fmt.Errorf("the last line is no checkpoint: %w", err)
	}
	if line.End != nil {
		line.Checkpoint = *line.End
	}
	if err := line.check(); err != nil {
		return Checkpoint{}, err
	}
	return line.Checkpoint, nil
}
