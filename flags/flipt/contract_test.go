package flipt_test

import (
	"testing"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
	"github.com/seed-c8cbbb61/cutover/flags/storetest"
)

func TestTheStoreKeepsTheContract(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		storetest.Run(t, func(t *testing.T) storetest.Subject {
			namespace, create := b.space(t)
			create(t, flags.Key{Namespace: namespace, Name: "first"}) // the namespace too
			return storetest.Subject{
				Store:     b.store,
				Namespace: namespace,
				Create:    create,
				Another: func(t *testing.T, key flags.Key, share flags.Share) {
					t.Helper()
					if err := b.hand.SetShare(t.Context(), key, float64(share), "by hand"); err != nil {
						t.Fatal(err)
					}
				},
				LastWriteWins: b.hand.Version == flipttest.V1,
			}
		})
	}, flipttest.V1, flipttest.V2)
}
