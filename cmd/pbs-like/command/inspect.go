package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
)

func (p *program) inspectCommand() *cli.Command {
	const args = "FILE"
	decode := &cli.BoolFlag{DisableDefaultText: true, Name: flagDecode, Usage: "write the content to standard output, instead of what is known of it"}
	return &cli.Command{
		Name:  "inspect",
		Usage: "look into single files, in a datastore or rescued from one",
		Subcommands: []*cli.Command{
			{
				Name: "chunk", Usage: "what a file that should be a chunk is", ArgsUsage: args,
				Description: "Reads the file, compares its checksum, decodes it, and tells whether its content is what its name says.\n" +
					"Of an encrypted one that takes the key. Damage makes the exit code 12.",
				Flags:  []cli.Flag{decode, formatFlag()},
				Action: withArgs(args, func(c *cli.Context) error { return p.inspectBlob(c, true) }),
			}, {
				Name: "blob", Usage: "what a .blob file is: an archive, a manifest, a log", ArgsUsage: args,
				Description: "Reads the file, compares its checksum and decodes it. Damage makes the exit code 12.",
				Flags:       []cli.Flag{decode, formatFlag()},
				Action:      withArgs(args, func(c *cli.Context) error { return p.inspectBlob(c, false) }),
			}, {
				Name: "index", Usage: "what a .fidx or .didx file is, and whether its chunks are there", ArgsUsage: args,
				Description: "Reads the index and compares its checksum. Of a damaged one it tells what can still be read.\n" +
					"Damage, and chunks that are missing, make the exit code 12.",
				Flags: []cli.Flag{
					&cli.BoolFlag{DisableDefaultText: true, Name: "entries", Usage: "list the entries"},
					&cli.BoolFlag{DisableDefaultText: true, Name: "missing", Usage: "look in the datastore which chunks are missing, and list these"},
					formatFlag(),
				},
				Action: withArgs(args, p.inspectIndex),
			},
		},
	}
}

const flagDecode = "decode"

func (p *program) inspectBlob(c *cli.Context, chunk bool) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	name := c.Args().First()
	b, err := datastore.InspectBlob(name)
	if err != nil {
		return err
	}
	if c.Bool(flagDecode) {
		if b.DecodeErr != nil || b.HeaderErr != nil {
			return fmt.Errorf("%q: %w", name, errors.Join(b.Err(), b.DecodeErr))
		}
		_, err := p.out.Write(b.Data)
		return err
	}
	out := newBlobJSON(name, b, chunk)
	if format != formatText {
		err = writeJSON(p.out, out, format == formatJSONPretty)
	} else {
		err = p.printFacts(out.facts())
	}
	if err == nil && b.Err() == nil && out.NameMatches != nil && !*out.NameMatches {
		return fmt.Errorf("%q: its content has another digest than its name: %w", name, datastore.ErrCorrupt)
	}
	if err == nil && b.Err() != nil {
		err = fmt.Errorf("%q: %w", name, b.Err())
	}
	return err
}

type blobJSON struct {
	CRC         string `json:"crc,omitempty"`
	CRCMatches  bool   `json:"crc-matches"`
	Digest      string `json:"digest,omitempty"`
	Error       string `json:"error,omitempty"`
	File        string `json:"file"`
	FileSize    int64  `json:"file-size"`
	IV          string `json:"iv,omitempty"`
	Kind        string `json:"kind,omitempty"`
	NameMatches *bool  `json:"name-matches,omitempty"`
	NeedsKey    bool   `json:"needs-key"`
	Size        *int   `json:"size,omitempty"`
	Tag         string `json:"tag,omitempty"`
}

func newBlobJSON(name string, b datastore.BlobInspection, chunk bool) blobJSON {
	out := blobJSON{File: name, FileSize: b.FileSize, NeedsKey: errors.Is(b.DecodeErr, blob.ErrNeedKey)}
	if err := b.Err(); err != nil {
		out.Error = err.Error()
	}
	if b.HeaderErr != nil {
		return out
	}
	out.Kind, out.CRC, out.CRCMatches = b.Header.Kind.String(), fmt.Sprintf("%08x", b.Header.CRC), b.CRCErr == nil
	if b.Header.Kind.Encrypted() {
		out.IV, out.Tag = fmt.Sprintf("%x", b.Header.IV), fmt.Sprintf("%x", b.Header.Tag)
	}
	if b.DecodeErr == nil {
		size := len(b.Data)
		out.Size, out.Digest = &size, b.Digest.String()
		if named, ok := chunkDigest(name); ok && chunk {
			same := named == b.Digest
			out.NameMatches = &same
		}
	}
	return out
}

// chunkDigest reads the digest that a chunk's file is named by, also a damaged one's.
func chunkDigest(name string) (digest.Digest, bool) {
	base := filepath.Base(name)
	if len(base) < digest.HexLen {
		return digest.Digest{}, false
	}
	d, err := digest.Parse(base[:digest.HexLen])
	return d, err == nil
}

func (b blobJSON) facts() []fact {
	facts := []fact{{"file", b.File}, {"stored", fmt.Sprintf("%d bytes", b.FileSize)}}
	if b.Kind == "" {
		return append(facts, fact{"damage", oneLine(b.Error)})
	}
	facts = append(facts, fact{"kind", b.Kind}, fact{"crc", b.CRC + matches(b.CRCMatches)})
	if b.IV != "" {
		facts = append(facts, fact{"iv", b.IV}, fact{"tag", b.Tag})
	}
	if b.NeedsKey {
		return append(facts, fact{"content", "encrypted: to be read with the key only"})
	}
	if b.Size == nil {
		return append(facts, fact{"damage", oneLine(b.Error)})
	}
	facts = append(facts, fact{"content", fmt.Sprintf("%d bytes", *b.Size)}, fact{"digest", b.Digest})
	if b.NameMatches != nil {
		facts[len(facts)-1].value += map[bool]string{true: ", as its name says", false: ", which is NOT its name"}[*b.NameMatches]
	}
	return facts
}

func matches(yes bool) string {
	if yes {
		return ", right"
	}
	return ", WRONG"
}

func (p *program) inspectIndex(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	all, missing := c.Bool("entries"), c.Bool("missing")
	var entries []indexEntryJSON
	opts := datastore.InspectIndexOptions{Each: func(e datastore.IndexEntry) error {
		if all || missing && e.Missing {
			entries = append(entries, newIndexEntryJSON(e, missing))
		}
		return nil
	}}
	if missing {
		if opts.Store, err = p.open(c); err != nil {
			return err
		}
	}
	name := c.Args().First()
	x, err := datastore.InspectIndex(c.Context, name, opts)
	if err != nil {
		return err
	}
	out := newIndexJSON(name, x)
	if format != formatText {
		out.Entries = entries
		err = writeJSON(p.out, out, format == formatJSONPretty)
	} else if err = p.printFacts(out.facts()); err == nil && len(entries) > 0 {
		err = p.printEntries(entries)
	}
	if err == nil && x.Err() != nil {
		err = fmt.Errorf("%q: %w", name, x.Err())
	}
	return err
}

type indexJSON struct {
	Checksum  string           `json:"csum,omitempty"`
	ChunkSize uint64           `json:"chunk-size,omitempty"`
	Computed  string           `json:"csum-computed,omitempty"`
	Count     int              `json:"chunk-count"`
	Created   int64            `json:"ctime"`
	Distinct  int              `json:"distinct-chunks"`
	Entries   []indexEntryJSON `json:"entries,omitempty"`
	Error     string           `json:"error,omitempty"`
	File      string           `json:"file"`
	FileSize  int64            `json:"file-size"`
	Kind      string           `json:"kind"`
	Missing   *int             `json:"missing-chunks,omitempty"`
	Size      uint64           `json:"size"`
	UUID      string           `json:"uuid,omitempty"`
	readable  bool
}

func newIndexJSON(name string, x datastore.IndexInspection) indexJSON {
	out := indexJSON{
		File: name, FileSize: x.FileSize, Kind: x.Kind.String(), Count: x.Count, Distinct: x.Distinct,
		Created: x.Created, Size: x.Size, ChunkSize: x.ChunkSize,
	}
	if out.readable = !x.Stored.IsZero() || x.Damage == nil; out.readable {
		out.Checksum, out.Computed = x.Stored.String(), x.Computed.String()
		u := x.UUID
		out.UUID = fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	}
	if err := x.Err(); err != nil {
		out.Error = err.Error()
	}
	if x.Missing >= 0 {
		out.Missing = &x.Missing
	}
	return out
}

func (x indexJSON) facts() []fact {
	facts := []fact{{"file", x.File}, {"stored", fmt.Sprintf("%d bytes", x.FileSize)}, {"kind", x.Kind}}
	if x.readable {
		facts = append(facts,
			fact{"uuid", x.UUID},
			fact{"created", time.Unix(x.Created, 0).UTC().Format(time.RFC3339)},
			fact{"describes", fmt.Sprintf("%d bytes (%s)", x.Size, humanize.IBytes(x.Size))},
		)
		if x.ChunkSize > 0 {
			facts = append(facts, fact{"chunk size", fmt.Sprint(x.ChunkSize)})
		}
		facts = append(facts, fact{"checksum", x.Checksum + matches(x.Checksum == x.Computed)})
		if x.Checksum != x.Computed {
			facts = append(facts, fact{"computed", x.Computed})
		}
	}
	facts = append(facts, fact{"chunks", fmt.Sprintf("%d, of which %d are different", x.Count, x.Distinct)})
	if x.Missing != nil {
		facts = append(facts, fact{"missing", fmt.Sprint(*x.Missing)})
	}
	if x.Error != "" {
		facts = append(facts, fact{"damage", oneLine(x.Error)})
	}
	return facts
}

type indexEntryJSON struct {
	Digest  string `json:"digest"`
	End     uint64 `json:"end"`
	Missing *bool  `json:"missing,omitempty"`
	Number  int    `json:"number"`
	Start   uint64 `json:"start"`
}

func newIndexEntryJSON(e datastore.IndexEntry, looked bool) indexEntryJSON {
	out := indexEntryJSON{Digest: e.Chunk.Digest.String(), Start: e.Chunk.Start, End: e.Chunk.End, Number: e.Number}
	if looked {
		out.Missing = &e.Missing
	}
	return out
}

func (p *program) printEntries(entries []indexEntryJSON) error {
	t := newTable(p.out, []column{{title: "chunk", right: true}, {title: "start", right: true}, {title: "end", right: true}, {title: "digest"}, {title: "state"}})
	for _, e := range entries {
		state := ""
		if e.Missing != nil {
			state = map[bool]string{true: "missing", false: "there"}[*e.Missing]
		}
		if err := t.add([]string{fmt.Sprint(e.Number), fmt.Sprint(e.Start), fmt.Sprint(e.End), e.Digest, state}); err != nil {
			return err
		}
	}
	return t.close()
}
