package export

import (
	"archive/tar"
	"fmt"
	"io"
	"strings"

	"github.com/pbs-like/pbs-like/pxar"
)

// Tar writes top and everything below it as a tar archive, in the PAX format. After an error what was
// written is no complete archive.
func Tar(w io.Writer, a *pxar.Archive, top *pxar.Entry, opts Options) (Stats, error) {
	return run(a, top, &tarFormat{tar.NewWriter(w)}, opts)
}

type tarFormat struct{ w *tar.Writer }

func (t *tarFormat) close() error { return t.w.Close() }

func (t *tarFormat) entry(e *pxar.Entry, content io.Reader) error {
	h := tarHeader(e)
	switch e.Kind { // hard links come elsewhere
	case pxar.Directory:
		h.Typeflag = tar.TypeDir
		h.Name += "/"
	case pxar.File:
		h.Typeflag, h.Size = tar.TypeReg, int64(e.Size)
	case pxar.Symlink:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Target
	case pxar.FIFO:
		h.Typeflag = tar.TypeFifo
	case pxar.Device:
		h.Typeflag, h.Devmajor, h.Devminor = tar.TypeChar, int64(e.Major), int64(e.Minor)
		if e.IsBlock() {
			h.Typeflag = tar.TypeBlock
		}
	default:
		return leftOut("a tar archive can't hold a %v", e.Kind)
	}
	if e.Kind == pxar.File && h.Size < 0 {
		return leftOut("a file of %d bytes", e.Size)
	}
	if err := t.header(h); err != nil || content == nil {
		return err
	}
	_, err := io.Copy(t.w, content)
	return err
}

// header writes a header. One that can't be written changes nothing.
func (t *tarFormat) header(h *tar.Header) error {
	if strings.Contains(h.Linkname, "\x00") {
		return leftOut("it leads to a name with a NUL in it")
	}
	err := t.w.WriteHeader(h)
	if err == nil {
		return nil
	}
	if flushErr := t.w.Flush(); flushErr != nil {
		return err // the writer is broken, not the header
	}
	return leftOut("%v", err)
}

func (t *tarFormat) link(e, to *pxar.Entry, _ uint64) error {
	h := tarHeader(to)
	h.Typeflag, h.Name, h.Linkname = tar.TypeLink, tarName(e.Path), tarName(to.Path)
	h.PAXRecords = nil
	return t.header(h)
}

func tarName(path string) string {
	if path == "/" {
		return "."
	}
	return path[1:]
}

const permissions = 0o7777

func tarHeader(e *pxar.Entry) *tar.Header {
	h := &tar.Header{
		Format: tar.FormatPAX, Name: tarName(e.Path), Mode: int64(e.Mode & permissions),
		Uid: int(e.UID), Gid: int(e.GID), ModTime: e.ModTime(), PAXRecords: map[string]string{},
	}
	for _, x := range e.Xattrs {
		if x.Name != "" && !strings.ContainsAny(x.Name, "=\x00") {
			h.PAXRecords["SCHILY.xattr."+x.Name] = string(x.Value)
		}
	}
	if e.FCaps != nil {
		h.PAXRecords["SCHILY.xattr.security.capability"] = string(e.FCaps)
	}
	addACLs(h.PAXRecords, e)
	return h
}

// addACLs writes access lists as text, with numbers for names, as tar programs read them.
func addACLs(records map[string]string, e *pxar.Entry) {
	a := &e.ACL
	if a.GroupObj != nil || len(a.Users)+len(a.Groups) > 0 {
		group, mask := e.Mode>>3&7, e.Mode>>3&7
		if a.GroupObj != nil {
			group = *a.GroupObj // the group bits of the mode are the mask then
		}
		records["SCHILY.acl.access"] = aclText(e.Mode>>6&7, group, mask, e.Mode&7, a.Users, a.Groups)
	}
	if d := a.Default; d != nil {
		records["SCHILY.acl.default"] = aclText(d.UserObj, d.GroupObj, d.Mask, d.Other, a.DefaultUsers, a.DefaultGroups)
	}
}

func aclText(user, group, mask, other uint64, users, groups []pxar.ACLEntry) string {
	var lines []string
	add := func(who string, perm uint64) {
		if perm != pxar.NoPerm {
			lines = append(lines, who+permText(perm))
		}
	}
	add("user::", user)
	for _, e := range users {
		add(fmt.Sprintf("user:%d:", uint32(e.ID)), e.Perm)
	}
	add("group::", group)
	for _, e := range groups {
		add(fmt.Sprintf("group:%d:", uint32(e.ID)), e.Perm)
	}
	add("mask::", mask)
	add("other::", other)
	return strings.Join(lines, "\n") + "\n"
}

func permText(perm uint64) string {
	text := []byte("---")
	for i, letter := range []byte("rwx") {
		if perm&(4>>i) != 0 {
			text[i] = letter
		}
	}
	return string(text)
}
