package audit_test

import (
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// verified verifies a text and returns the damage.
func verified(t *testing.T, text string, checkpoints ...audit.Checkpoint) *audit.Damage {
	t.Helper()
	result, err := audit.VerifyExport(strings.NewReader(text), checkpoints...)
	if err != nil {
		t.Fatal(err)
	}
	if result.Damage != nil {
		t.Log(result.Damage)
	}
	return result.Damage
}

func TestExportComesBackAsItWasWritten(t *testing.T) {
	records := chain(t, 9)
	last := records[8].Checkpoint()
	for _, after := range []int{0, 1, 5, 8, 9} {
		h := audit.Header{Last: 9, Tail: &last}
		if after > 0 {
			h.After = records[after-1].Checkpoint()
		}
		text := exported(t, h, records[after:])
		if n := len(lines(text)); n != 9-after+2 {
			t.Errorf("after %d: %d lines", after, n)
		}
		x, err := audit.Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []audit.Record
		for r, err := range x.Records() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r)
		}
		if diff := cmp.Diff(append([]audit.Record(nil), records[after:]...), got); diff != "" {
			t.Errorf("after %d: want -, got +:\n%s", after, diff)
		}
		result, err := audit.VerifyExport(strings.NewReader(strings.TrimSuffix(text, "\n")), last)
		if err != nil || result.Damage != nil || result.Places != int64(9-after) {
			t.Errorf("after %d: %+v, %v", after, result, err)
		}
		if diff := cmp.Diff(last, result.Checkpoint); diff != "" {
			t.Errorf("after %d: want -, got +:\n%s", after, diff)
		}
	}
}

func TestExportIsHeldToAnOlderCheckpoint(t *testing.T) {
	records := chain(t, 9)
	kept := records[3].Checkpoint()
	h := audit.Header{Last: 9, After: kept}
	differs(t, nil, verified(t, exported(t, h, records[4:]), kept))

	forged := slices.Clone(records)
	forged[1].Body = strings.Replace(forged[1].Body, "remark", "praise", 1)
	forged = again(t, forged)
	differs(t, nil, verified(t, exported(t, audit.Header{Last: 9}, forged)))
	differs(t, &audit.Damage{Kind: audit.Rewritten, Place: 4}, verified(t, exported(t, audit.Header{Last: 9}, forged), kept))
	h.After = forged[3].Checkpoint()
	differs(t, nil, verified(t, exported(t, h, forged[4:])))
	differs(t, &audit.Damage{Kind: audit.Rewritten, Place: 4}, verified(t, exported(t, h, forged[4:]), kept))

	short := exported(t, audit.Header{Last: 2}, records[:2])
	differs(t, &audit.Damage{Kind: audit.Cut, Place: 3}, verified(t, short, kept))
}

// The lines are a header, places 1 to 6, and a checkpoint.
func TestDamageToAnExportIsNamed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(l []string) []string
		want   *audit.Damage
	}{
		{"a text was changed", func(l []string) []string {
			l[3] = strings.Replace(l[3], "remark", "praise", 1)
			return l
		}, &audit.Damage{Kind: audit.Edited, Place: 3, Rollout: "orders"}},
		{"a line was removed", func(l []string) []string { return slices.Delete(l, 3, 4) }, &audit.Damage{Kind: audit.Missing, Place: 3}},
		{"two lines were swapped", func(l []string) []string {
			l[3], l[5] = l[5], l[3]
			return l
		}, &audit.Damage{Kind: audit.Reordered, Place: 3, Rollout: "orders"}},
		{"a line is there twice", func(l []string) []string { return slices.Insert(l, 4, l[3]) }, &audit.Damage{Kind: audit.Extra, Place: 4, Rollout: "orders"}},
		{"the last event was removed", func(l []string) []string { return slices.Delete(l, 6, 7) }, &audit.Damage{Kind: audit.Cut, Place: 6}},
		{"the end was removed", func(l []string) []string { return l[:5] }, &audit.Damage{Kind: audit.Cut, Place: 5}},
		{"the checkpoint was removed", func(l []string) []string { return l[:7] }, &audit.Damage{Kind: audit.Cut, Place: 7}},
		{"it ends within a line", func(l []string) []string {
			l[4] = l[4][:40]
			return l[:5]
		}, &audit.Damage{Kind: audit.Cut, Place: 4}},
		{"all but the header was removed", func(l []string) []string { return l[:1] }, &audit.Damage{Kind: audit.Cut, Place: 1}},
		{"a line is no JSON", func(l []string) []string {
			l[3] = "what?\n"
			return l
		}, &audit.Damage{Kind: audit.Unreadable, Place: 3}},
		{"a line is empty", func(l []string) []string { return slices.Insert(l, 3, "\n") }, &audit.Damage{Kind: audit.Unreadable, Place: 3}},
		{"a line is something else", func(l []string) []string {
			l[3] = `{"remark":"hello"}` + "\n"
			return l
		}, &audit.Damage{Kind: audit.Unreadable, Place: 3}},
		{"a line says more than an event does", func(l []string) []string {
			l[3] = strings.Replace(l[3], "{", `{"remark":"hello",`, 1)
			return l
		}, &audit.Damage{Kind: audit.Unreadable, Place: 3}},
		{"a line has two events", func(l []string) []string {
			l[3] = strings.TrimSpace(l[3]) + l[4]
			return slices.Delete(l, 4, 5)
		}, &audit.Damage{Kind: audit.Unreadable, Place: 3}},
		{"a line has nothing", func(l []string) []string {
			l[3] = "{}\n"
			return l
		}, &audit.Damage{Kind: audit.Unreadable, Place: 3}},
		{"the checkpoint is another", func(l []string) []string {
			l[7] = strings.Replace(l[7], `"place":6`, `"place":5`, 1)
			return l
		}, &audit.Damage{Kind: audit.Rewritten, Place: 6}},
		{"the checkpoint is none", func(l []string) []string {
			l[7] = strings.Replace(l[7], `"place":6`, `"place":0`, 1)
			return l
		}, &audit.Damage{Kind: audit.Unreadable, Place: 7}},
		{"something stands after the checkpoint", func(l []string) []string { return append(l, l[3]) }, &audit.Damage{Kind: audit.Extra, Place: 7}},
		{"the first of two damages is named, though the second cannot be read", func(l []string) []string {
			l[5] = "what?\n"
			return slices.Delete(l, 3, 4)
		}, &audit.Damage{Kind: audit.Missing, Place: 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := exported(t, audit.Header{Last: 6}, chain(t, 6))
			differs(t, tt.want, verified(t, strings.Join(tt.damage(lines(text)), "")))
		})
	}
}

func TestWhatIsNoExportIsRefused(t *testing.T) {
	text := exported(t, audit.Header{Last: 6}, chain(t, 6))
	for want, odd := range map[string]string{
		"not that of a cutover audit export": "",
		"line 1 is not that":                 strings.Join(lines(text)[1:], ""),
		"of version 2":                       strings.Replace(text, `"version":1`, `"version":2`, 1),
		"of no journal":                      strings.Replace(text, `"place":0`, `"place":3`, 1),
		"before the first, 1":                strings.Replace(text, `"last":6`, `"last":-6`, 1),
		"0:ab":                               strings.Replace(text, `"last"`, `"tail":{"version":1,"place":0,"hash":"ab"},"last"`, 1),
	} {
		if result, err := audit.VerifyExport(strings.NewReader(odd)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, error %v; want %q", result, err, want)
		}
	}
}

func TestLineWithoutEndIsGivenUp(t *testing.T) {
	header := lines(exported(t, audit.Header{Last: 6}, nil))[0]
	var rest endless
	if result, err := audit.VerifyExport(io.MultiReader(strings.NewReader(header), &rest)); err == nil || !strings.Contains(err.Error(), "line 2 is longer than 64 MiB") {
		t.Errorf("%+v, error %v", result, err)
	}
	if rest > 65<<20 {
		t.Errorf("%d bytes of it were read", rest)
	}
}

// endless is a line without end, and how much of it was read.
type endless int

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	*e += endless(len(p))
	return len(p), nil
}

func TestExportSaysWhetherItCameToItsEnd(t *testing.T) {
	text := exported(t, audit.Header{Last: 6}, chain(t, 6))
	damaged := strings.Replace(text, "remark 2", "praise 2", 1)
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"whole", text, true},
		{"without a line's end", strings.TrimSuffix(text, "\n"), true},
		{"damaged and whole", damaged, true},
		{"damaged and not read to its end", strings.Join(lines(damaged)[:6], ""), false},
		{"not read to its end", strings.Join(lines(text)[:6], ""), false},
		{"cut within the checkpoint", text[:len(text)-9], false},
	} {
		x, err := audit.Read(strings.NewReader(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Verify(); err != nil {
			t.Fatal(err)
		}
		if got, err := x.Complete(); got != tt.want || err != nil {
			t.Errorf("%s: %v, error %v; want %v", tt.name, got, err, tt.want)
		}
	}
}

func TestWritingAnExportEndsWithTheFirstError(t *testing.T) {
	broken := errors.New("the line is down")
	var once iter.Seq2[audit.Record, error] = func(yield func(audit.Record, error) bool) {
		if yield(chain(t, 1)[0], nil) {
			yield(audit.Record{}, broken)
		}
	}
	var text strings.Builder
	if _, err := audit.WriteExport(&text, audit.Header{Last: 6}, once); !errors.Is(err, broken) || strings.Contains(text.String(), "checkpoint") {
		t.Errorf("error %v after\n%s", err, &text)
	}
	for room := range 4 {
		_, err := audit.WriteExport(&full{room: room, err: broken}, audit.Header{Last: 2}, byPlace(chain(t, 2)))
		if !errors.Is(err, broken) {
			t.Errorf("with room for %d lines: error %v", room, err)
		}
	}
}

// full has room for some lines.
type full struct {
	room int
	err  error
}

func (f *full) Write(p []byte) (int, error) {
	if f.room--; f.room < 0 {
		return 0, f.err
	}
	return len(p), nil
}

func TestCheckpointIsReadFromWhateverItWasKeptIn(t *testing.T) {
	records := chain(t, 6)
	want := records[5].Checkpoint()
	text := exported(t, audit.Header{Last: 6}, records)
	ls := lines(text)
	inner := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(ls[7]), `{"checkpoint":`), "}")
	for name, kept := range map[string]string{
		"text": want.String(), "text with lines around": "kept on monday\n" + want.String() + "\n\n",
		"export": text, "last line of an export": ls[7], "JSON": inner,
	} {
		got, err := audit.ReadCheckpoint(strings.NewReader(kept))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got.String() != want.String() {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	for name, odd := range map[string]string{
		"nothing": "", "half an export": strings.Join(ls[:7], ""), "other JSON": "{}", "no JSON": "{",
		"newer": `{"version":2,"place":1,"hash":"` + want.Hash.String() + `"}`,
	} {
		if got, err := audit.ReadCheckpoint(strings.NewReader(odd)); err == nil {
			t.Errorf("%s: read as %s", name, got)
		}
	}
}

// FuzzVerifyExport: whatever a file has, it is damage, an error, or the whole of
// a chain that begins where the header says.
func FuzzVerifyExport(f *testing.F) {
	records := chain(f, 4)
	whole := exported(f, audit.Header{Last: 4, Tail: new(records[3].Checkpoint())}, records)
	for _, seed := range []string{
		whole, exported(f, audit.Header{Last: 4, After: records[1].Checkpoint()}, records[2:]), exported(f, audit.Header{}, nil),
		strings.Join(lines(whole)[:4], ""), strings.Replace(whole, "remark 2", "praise 2", 1), strings.Replace(whole, `"seq":2`, `"seq":9`, 1), "{}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		result, err := audit.VerifyExport(strings.NewReader(text))
		if err != nil || result.Damage != nil {
			return
		}
		x, err := audit.Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var last audit.Record
		places := int64(0)
		for r, err := range x.Records() {
			if err != nil {
				t.Fatalf("it was verified, and cannot be read: %v", err)
			}
			last = r
			places++
		}
		if places != result.Places || x.After.Place+places != x.Last || places > 0 && last.Hash.String() != result.Checkpoint.Hash.String() {
			t.Fatalf("%d events verified, %d read, header %+v, last %+v", result.Places, places, x.Header, last)
		}
		if complete, err := x.Complete(); !complete || err != nil {
			t.Fatalf("it was verified, and is not complete: %v", err)
		}
	})
}
