package pxar

import (
	"fmt"
	"testing"
)

func TestATableIsSearchableAsLongAsNobodySpoilsIt(t *testing.T) {
	t.Parallel()
	for _, count := range []int{0, 1, 2, 3, 10, 300} {
		archive := dirEntry()
		var slots []slot
		for i := range count {
			slots = append(slots, slot{hash: hashName(fmt.Sprint(i)), offset: 1, size: 1})
		}
		slots = permute(slots)
		for spoilt := -1; spoilt < min(count, 4); spoilt++ {
			table := append([]slot(nil), slots...)
			if spoilt >= 0 && count > 1 {
				other := (spoilt + 1) % count
				if table[spoilt], table[other] = table[other], table[spoilt]; spoilt == 3 {
					table = append([]slot(nil), slots...)
					table[other].hash = table[spoilt].hash // a name that is there twice
				}
			}
			whole := header{itemGoodbye, uint64(len(table)+1) * slotSize}.append(append([]byte(nil), archive...))
			for _, s := range table {
				whole = s.append(whole)
			}
			whole = slot{tailMarker, uint64(len(archive)), headerSize + uint64(len(table)+1)*slotSize}.append(whole)
			a, err := openBytes(whole, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := a.root.Searchable()
			if want := spoilt < 0 || count < 2; err != nil || got != want {
				t.Errorf("%d entries, spoilt at %d: %v, %v", count, spoilt, got, err)
			}
		}
	}
}
