package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
)

const whole = `{
  "format": 1,
  "writes": 7,
  "flags": [
    {
      "namespace": "default",
      "key": "orders-db-reads",
      "share": 25,
      "revision": "7",
      "stamp": {
        "rollout": "orders-db",
        "epoch": 3,
        "seq": 4,
        "share": 25
      }
    }
  ]
}
`

func TestTheFileReadsAsItIsWritten(t *testing.T) {
	c, err := decode([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	want := map[flags.Key]flags.Setting{
		{Namespace: "default", Name: "orders-db-reads"}: {
			Share: 25, Revision: "7",
			Stamp: flags.Stamp{Rollout: "orders-db", Epoch: 3, Seq: 4, Share: 25},
		},
	}
	if diff := cmp.Diff(want, c.settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(whole, string(c.encode())); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}
}

func TestWhatAStampSaysOfItsLaneOutlivesTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	text := strings.Replace(whole, `"share": 25`+"\n", `"share": 25, "lane": "reads", "class": "reads", "safe": 100, "by": "break-glass ann@host"`+"\n", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	got, err := store.Read(t.Context(), flags.Key{Namespace: "default", Name: "orders-db-reads"})
	want := flags.Stamp{
		Rollout: "orders-db", Epoch: 3, Seq: 4, Share: 25,
		Lane: "reads", Class: "reads", Safe: 100, By: "break-glass ann@host",
	}
	if err != nil || got.Stamp != want {
		t.Errorf("got %+v, %v", got.Stamp, err)
	}
}

func TestADamagedFileIsNeverOpened(t *testing.T) {
	change := func(from, to string) string {
		if strings.Count(whole, from) == 0 {
			t.Fatalf("%q is not in the file", from)
		}
		return strings.Replace(whole, from, to, 1)
	}
	for name, tc := range map[string]struct{ data, want string }{
		"nothing in it":           {"", "damaged: EOF"},
		"only zeros":              {strings.Repeat("\x00", 64), "damaged"},
		"cut in the middle":       {whole[:len(whole)/2], "damaged: unexpected EOF"},
		"something after the end": {whole + "x", "damaged"},
		"two of them":             {whole + whole, "damaged"},
		"null":                    {"null", "format is 0"},
		"a later format":          {change(`"format": 1`, `"format": 2`), "knows 1 only"},
		"an unknown field":        {change(`"writes"`, `"written"`), `unknown field "written"`},
		"a missing share":         {change(`      "share": 25,`+"\n", ""), "missing"},
		"a share by another name": {change(`"share": 25,`, `"Share": 25,`), "missing, doubled or not in its place"},
		"a doubled share":         {change(`"share": 25,`, `"share": 25, "share": 25,`), "doubled"},
		"a share of 101":          {change(`"share": 25,`, `"share": 101,`), "share 101: must be from 0 to 100"},
		"a safe share of 101":     {change(`"share": 25`+"\n", `"share": 25, "safe": 101`+"\n"), "stamp.safe 101: must be from 0 to 100"},
		"half a percent":          {change(`"share": 25,`, `"share": 0.5,`), "cannot unmarshal number 0.5"},
		"a flag without a name":   {change(`"key": "orders-db-reads"`, `"key": ""`), "must not be empty"},
		"a revision to come":      {change(`"revision": "7"`, `"revision": "8"`), "from 1 to 7"},
		"no revision":             {change(`"revision": "7"`, `"revision": ""`), "from 1 to 7"},
		"writes below nothing":    {`{"format":1,"writes":-1,"flags":[]}`, "writes is -1"},
		"one flag twice": {
			`{"format":1,"writes":1,"flags":[` + flagOnce + `,` + flagOnce + `]}`, "it is there twice",
		},
	} {
		path := filepath.Join(t.TempDir(), "flags.json")
		if err := os.WriteFile(path, []byte(tc.data), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want an error with %q and the path", name, err, tc.want)
			continue
		}
		if !strings.Contains(err.Error(), "restore a copy") {
			t.Errorf("%s: %v does not say what to do", name, err)
		}
		if after, _ := os.ReadFile(path); string(after) != tc.data {
			t.Errorf("%s: opening changed the file to %q", name, after)
		}
		repaired := os.WriteFile(path, []byte(whole), 0o600)
		store, err := Open(path)
		if repaired != nil || err != nil {
			t.Errorf("%s: opening after a repair: %v, %v", name, repaired, err)
			continue
		}
		_ = store.Close()
	}
}

const flagOnce = `{"namespace":"default","key":"a","share":0,"revision":"1","stamp":{"rollout":"","epoch":0,"seq":0,"share":0}}`

func TestAFileThatWasThereAndIsGoneIsNoEmptyStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	store, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err = Open(path); err == nil || !strings.Contains(err.Error(), "it was there before") {
		t.Fatalf("opening after the file was lost: %v, want to be told that it was there", err)
	}
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	store, err = Open(path)
	if err != nil {
		t.Fatalf("opening after the lock file was removed on purpose: %v", err)
	}
	_ = store.Close()
}

func TestUnfinishedFilesOfAKilledProcessAreSwept(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "flags.json")
	kept := []string{".flags.json", ".flags.jsonx", "flags.json1", ".other.json1"}
	for _, name := range append(kept, ".flags.json123") {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	for _, name := range kept {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Errorf("%s was not ours to remove: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, ".flags.json123")); !os.IsNotExist(err) {
		t.Errorf("the unfinished file is still there: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"format":1,"writes":1,"flags":[` + flagOnce + `]}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decode(data)
		if err != nil {
			return
		}
		again, err := decode(c.encode())
		if err != nil {
			t.Fatalf("accepted %q, but not what it wrote of it: %v", data, err)
		}
		if diff := cmp.Diff(c.settings, again.settings); diff != "" || c.writes != again.writes {
			t.Fatalf("accepted %q, but wrote something else: %s", data, diff)
		}
	})
}
