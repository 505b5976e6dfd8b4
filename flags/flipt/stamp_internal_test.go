package flipt

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/flags"
)

func TestAMarkReadsAsAPersonWouldWriteIt(t *testing.T) {
	m := mark{Stamp: flags.Stamp{Rollout: "orders-db", Epoch: 3, Seq: 17, Share: 25}}
	if got, want := m.String(), "cutover orders-db 25% epoch=3 seq=17"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAMarkIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := mark{
			Stamp: flags.Stamp{
				Rollout: rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "-", "orders db", "a%2Fb"})).Draw(t, "rollout"),
				Epoch:   rapid.Int64().Draw(t, "epoch"),
				Seq:     rapid.Int64().Draw(t, "seq"),
				Share:   flags.Share(rapid.IntRange(0, 100).Draw(t, "share")),
			},
			over: rapid.SampledFrom([]string{"", "00ff"}).Draw(t, "over"),
		}
		if got, ok := parseMark(want.String()); !ok || got != want {
			t.Errorf("%q reads as %+v, %v, want %+v", want, got, ok, want)
		}
	})
}

func FuzzAMarkIsNothingButWhatWeWrite(f *testing.F) {
	for _, text := range []string{
		"cutover orders-db 25% epoch=3 seq=17",
		"cutover orders-db 25% epoch=3 seq=18 over=00ff",
		"cutover - 0% epoch=0 seq=1",
		"stage 25",
		"cutover orders-db 25 epoch=3 seq=17",
		"cutover orders-db 25% epoch=03 seq=17",
		"cutover orders-db 25% epoch=3 seq=17 over=",
		" cutover orders-db 25% epoch=3 seq=17",
		"cutover %zz 25% epoch=3 seq=17",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if m, ok := parseMark(text); ok && m.String() != text {
			t.Errorf("%q is taken for %q", text, m)
		} else if !ok && m != (mark{}) {
			t.Errorf("%q is refused, but gives %+v", text, m)
		}
	})
}
