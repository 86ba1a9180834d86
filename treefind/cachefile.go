package treefind

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/pbs-like/pbs-like/backupinfo"
)

// cacheKey is what a file of the cache is about.
type cacheKey [sha256.Size]byte

// keyOf is made of what decides about the names in an archive: all its data, and what it is called.
func keyOf(f backupinfo.File) cacheKey {
	return sha256.Sum256(append(f.Checksum[:], f.Name...))
}

const fileSuffix = ".names"

func (k cacheKey) file() string { return hex.EncodeToString(k[:]) + fileSuffix }

const (
	cacheMagic   = "pbs-like names\x01\n"
	cacheSumAt   = len(cacheMagic) + sha256.Size
	cacheHeader  = cacheSumAt + 4 + 8
	maxCacheFile = 64 << 20
)

// errCacheFile means that a file of the cache is not as it was written.
var errCacheFile = errors.New("it is not as it was written")

func cacheSum(data []byte) uint32 {
	return crc32.Checksum(data[cacheSumAt+4:], crc32.MakeTable(crc32.Castagnoli))
}

// encodeList gives the content of the file.
func encodeList(key cacheKey, l *nameList) []byte {
	out := append(make([]byte, 0, cacheHeader+len(l.names)+len(l.records)), cacheMagic...)
	out = append(append(out, key[:]...), 0, 0, 0, 0)
	out = binary.LittleEndian.AppendUint32(out, uint32(l.count()))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(l.names)))
	out = append(append(out, l.names...), l.records...)
	binary.LittleEndian.PutUint32(out[cacheSumAt:], cacheSum(out))
	return out
}

// parseList reads it. What it gives refers to data.
func parseList(key cacheKey, data []byte) (*nameList, error) {
	if len(data) < cacheHeader || string(data[:len(cacheMagic)]) != cacheMagic {
		return nil, fmt.Errorf("%w: another beginning", errCacheFile)
	}
	if !bytes.Equal(data[len(cacheMagic):cacheSumAt], key[:]) {
		return nil, fmt.Errorf("%w: another key", errCacheFile)
	}
	if binary.LittleEndian.Uint32(data[cacheSumAt:]) != cacheSum(data) {
		return nil, fmt.Errorf("%w: another checksum", errCacheFile)
	}
	count := int64(binary.LittleEndian.Uint32(data[cacheHeader-8:]))
	size := int64(binary.LittleEndian.Uint32(data[cacheHeader-4:]))
	if int64(len(data)) != int64(cacheHeader)+size+count*recordSize {
		return nil, fmt.Errorf("%w: another size", errCacheFile)
	}
	l := &nameList{names: data[cacheHeader:][:size], records: data[cacheHeader:][size:]}
	return l, l.check()
}

// check makes sure that a walk over the list stays in it, and ends.
func (l *nameList) check() error {
	if len(l.names) == 0 || bytes.Count(l.names, []byte("/")) != l.count()+1 || l.names[len(l.names)-1] != '/' {
		return fmt.Errorf("%w: other names", errCacheFile)
	}
	at := 0
	for i := range l.count() {
		// Each place is behind the one before, and a slash: as there are no more slashes, these are all.
		here := l.nameAt(i)
		if parent := l.parent(i); here >= len(l.names)-1 || i == 0 && here != 0 || i > 0 && here <= at || l.names[here] != '/' ||
			parent != noParent && int64(parent) >= int64(i) {
			return fmt.Errorf("%w: entry %d", errCacheFile, i)
		}
		at = here
	}
	return nil
}
