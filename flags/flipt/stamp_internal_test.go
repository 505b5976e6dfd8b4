package flipt

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/flags"
)

func TestAMarkReadsAsAPersonWouldWriteIt(t *testing.T) {
	plain := flags.Stamp{Rollout: "orders-db", Epoch: 3, Seq: 17, Share: 25}
	full := plain
	full.Lane, full.Class, full.Safe, full.By = "reads", "reads", 100, "break-glass ann@host: pool exhausted"
	for want, m := range map[string]mark{
		"cutover orders-db 25% epoch=3 seq=17":           {Stamp: plain},
		"cutover orders-db 25% epoch=3 seq=17 over=00ff": {Stamp: plain, over: "00ff"},
		"cutover orders-db 25% epoch=3 seq=17 lane=reads class=reads safe=100 by=break-glass%20ann@host:%20pool%20exhausted": {Stamp: full},
	} {
		if got := m.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, ok := parseMark(want); !ok || got != m {
			t.Errorf("%q reads as %+v, %v", want, got, ok)
		}
	}
}

func TestAMarkIsReadAsItWasWritten(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "-", "orders db", "a%2Fb", "a=b"}))
	rapid.Check(t, func(t *rapid.T) {
		want := mark{
			Stamp: flags.Stamp{
				Rollout: text.Draw(t, "rollout"),
				Epoch:   rapid.Int64().Draw(t, "epoch"),
				Seq:     rapid.Int64().Draw(t, "seq"),
				Share:   flags.Share(rapid.IntRange(0, 100).Draw(t, "share")),
				Lane:    text.Draw(t, "lane"),
				Class:   text.Draw(t, "class"),
				Safe:    flags.Share(rapid.IntRange(0, 100).Draw(t, "safe")),
				By:      text.Draw(t, "by"),
			},
			over: rapid.SampledFrom([]string{"", "00ff"}).Draw(t, "over"),
		}
		if got, ok := parseMark(want.String()); !ok || got != want {
			t.Errorf("%q reads as %+v, %v, want %+v", want, got, ok, want)
		}
	})
}

func TestTheWordsOfALaterProgramArePassedOver(t *testing.T) {
	const text = "cutover orders-db 25% epoch=3 seq=17 lane=reads colour=red over=00ff"
	want := mark{Stamp: flags.Stamp{Rollout: "orders-db", Epoch: 3, Seq: 17, Share: 25, Lane: "reads"}, over: "00ff"}
	if got, ok := parseMark(text); !ok || got != want {
		t.Errorf("%q reads as %+v, %v", text, got, ok)
	}
}

func FuzzAMarkIsNothingButWhatWeWrite(f *testing.F) {
	for _, text := range []string{
		"cutover orders-db 25% epoch=3 seq=17",
		"cutover orders-db 25% epoch=3 seq=18 over=00ff",
		"cutover orders-db 25% epoch=3 seq=18 lane=reads class=reads safe=100 by=ann%20b",
		"cutover orders-db 25% epoch=3 seq=18 safe=101",
		"cutover orders-db 25% epoch=3 seq=18 by hand",
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
		m, ok := parseMark(text)
		switch plain := (mark{Stamp: flags.Stamp{Rollout: m.Rollout, Share: m.Share, Epoch: m.Epoch, Seq: m.Seq}}).String(); {
		case !ok && m != (mark{}):
			t.Errorf("%q is refused, but gives %+v", text, m)
		case !ok:
		case text != plain && !strings.HasPrefix(text, plain+" "):
			t.Errorf("%q is taken for %q", text, m)
		default:
			if again, ok := parseMark(m.String()); !ok || again != m {
				t.Errorf("%q is taken for %q, and that for %q", text, m, again)
			}
		}
	})
}
