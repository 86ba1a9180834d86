package command

import "github.com/pbs-like/pbs-like/datastore"

// collectionJSON has the keys of the original's status, and some more.
type collectionJSON struct {
	datastore.CollectionFigures

	Blocked          []string           `json:"blocked"`
	BlockedBy        []blockerJSON      `json:"blocked-by"`      // the same, with what can be done
	Damaged          []damagedIndexJSON `json:"damaged-indexes"` // the first ones
	DamagedIndexes   int                `json:"damaged-index-count"`
	Empty            int                `json:"empty-chunks"`
	Missing          int                `json:"missing-chunks"`
	PendingFrom      int64              `json:"pending-from,omitempty"`  // when the first pending chunk is old enough
	PendingUntil     int64              `json:"pending-until,omitempty"` // when the last one is
	RemovedLeftovers int                `json:"removed-leftovers"`
	RemovedTemp      int                `json:"removed-temp"`
	Unexpected       []string           `json:"unexpected"`
}

// blockerJSON is something because of which nothing was removed.
type blockerJSON struct {
	Advice string                `json:"advice"`
	Class  datastore.BlockerKind `json:"class"`
	Error  string                `json:"error"`
	Path   string                `json:"path"`
}

// damagedIndexJSON is an index that names chunks which are lost.
type damagedIndexJSON struct {
	Bad  int    `json:"bad-chunks"` // of the lost ones, those with a damaged file left
	Lost int    `json:"lost-chunks"`
	Path string `json:"path"`
}

func newCollectionJSON(r datastore.CollectReport) collectionJSON {
	out := collectionJSON{
		CollectionFigures: r.Figures(), Empty: r.Empty, Missing: r.Missing,
		RemovedLeftovers: r.RemovedLeftovers, RemovedTemp: r.RemovedTemp,
		Damaged: []damagedIndexJSON{}, DamagedIndexes: r.DamagedIndexes,
		Blocked: []string{}, BlockedBy: []blockerJSON{}, Unexpected: append([]string{}, r.Unexpected...),
	}
	if r.PendingChunks > 0 && !r.PendingUntil.IsZero() {
		out.PendingFrom, out.PendingUntil = r.PendingFrom.Unix(), r.PendingUntil.Unix()
	}
	for _, x := range r.Damaged {
		out.Damaged = append(out.Damaged, damagedIndexJSON{Bad: x.Bad, Lost: x.Lost, Path: x.Path})
	}
	for _, b := range r.Blocked {
		out.Blocked = append(out.Blocked, b.Error())
		out.BlockedBy = append(out.BlockedBy, blockerJSON{Advice: blockerAdvice(b), Class: b.Kind, Error: b.Err.Error(), Path: b.Path})
	}
	return out
}
