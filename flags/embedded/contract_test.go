package embedded_test

import (
	"path/filepath"
	"testing"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/storetest"
)

func TestStoreKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		store := open(t, filepath.Join(t.TempDir(), "flags.json"))
		return storetest.Subject{
			Store:     store,
			Namespace: "default",
			Create: func(t *testing.T, key flags.Key) {
				t.Helper()
				if err := store.Create(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			},
			Another: func(t *testing.T, key flags.Key, share flags.Share) {
				t.Helper()
				if _, err := store.Put(t.Context(), key, share, "dana"); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}
