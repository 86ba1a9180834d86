package datastore_test

import (
	"context"
	"fmt"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

func ExampleDatastore_Namespaces() {
	withDisk(func(ctx context.Context, store *datastore.Datastore) error {
		ns, err := backupinfo.ParseNamespace("office/berlin")
		if err != nil {
			return err
		}
		if err := store.CreateNamespace(ctx, ns, datastore.CreateNamespaceOptions{Parents: true}); err != nil {
			return err
		}
		for ns, err := range store.Namespaces(ctx, backupinfo.Namespace{}, -1) {
			if err != nil {
				return err
			}
			fmt.Printf("%q\n", ns)
		}
		_, err = store.RemoveNamespace(ctx, ns, datastore.RemoveNamespaceOptions{})
		return err
	})
	// Output:
	// ""
	// "office"
	// "office/berlin"
}
