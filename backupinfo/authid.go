package backupinfo

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AuthID names who owns a group: a user "name@realm", or an API token of a user
// "name@realm!token". The zero value is nobody.
type AuthID string

// DefaultOwner owns what is made by the administrator of the machine.
const DefaultOwner AuthID = "root@pam"

// The lengths of an auth id's parts.
const (
	minRealm     = 3
	maxAuthID    = 256
	maxOwnerFile = 4096
)

// ParseAuthID reads a user or a token. Names may hold anything but white space,
// colon, slash and control characters; realms and token names follow the pattern
// of ids.
func ParseAuthID(s string) (AuthID, error) {
	if err := checkAuthID(s); err != nil {
		return "", fmt.Errorf("auth id %s: %w", quote(s), err)
	}
	return AuthID(s), nil
}

func checkAuthID(s string) error {
	if len(s) > maxAuthID {
		return fmt.Errorf("longer than %d bytes", maxAuthID)
	}
	name, realm, token, err := splitAuthID(s)
	if err != nil {
		return err
	}
	if err := checkUserName(name); err != nil {
		return err
	}
	if err := checkID(realm); err != nil {
		return fmt.Errorf("realm %s %w", quote(realm), err)
	}
	if len(realm) < minRealm {
		return fmt.Errorf("realm %s is shorter than %d characters", quote(realm), minRealm)
	}
	if len(name)+1+len(realm) == len(s) {
		return nil
	}
	if err := checkID(token); err != nil {
		return fmt.Errorf("token name %s %w", quote(token), err)
	}
	return nil
}

// splitAuthID cuts at the last @, so that a name may hold one, and at the first
// ! after it.
func splitAuthID(s string) (name, realm, token string, err error) {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return "", "", "", errors.New("must have the form name@realm or name@realm!token")
	}
	realm, token, _ = strings.Cut(s[at+1:], "!")
	return s[:at], realm, token, nil
}

func checkUserName(name string) error {
	if name == "" {
		return errors.New("the user name is empty")
	}
	if !utf8.ValidString(name) {
		return errors.New("the user name is not UTF-8")
	}
	for _, r := range name {
		if r == ':' || r == '/' || unicode.IsSpace(r) || unicode.IsControl(r) {
			return fmt.Errorf("the user name has %q", r)
		}
	}
	return nil
}

// ParseOwner reads the content of a group's owner file: an auth id on the first
// line.
func ParseOwner(content []byte) (AuthID, error) {
	if len(content) > maxOwnerFile {
		return "", fmt.Errorf("owner file: longer than %d bytes", maxOwnerFile)
	}
	line, _, _ := strings.Cut(string(content), "\n")
	return ParseAuthID(strings.TrimRight(line, " \t\r"))
}

// OwnerFile returns the content of the owner file for a, which ends in a newline.
func (a AuthID) OwnerFile() []byte { return []byte(string(a) + "\n") }

// User returns the user, without the token.
func (a AuthID) User() AuthID { return a[:len(a)-len(a.tokenPart())] }

// Token returns the token's name, "" for a user.
func (a AuthID) Token() string { return strings.TrimPrefix(a.tokenPart(), "!") }

// IsToken reports whether a is a token of a user.
func (a AuthID) IsToken() bool { return a.tokenPart() != "" }

// tokenPart returns "!token" or "".
func (a AuthID) tokenPart() string {
	s := string(a)
	at := strings.LastIndexByte(s, '@') + 1
	if i := strings.IndexByte(s[at:], '!'); i >= 0 {
		return s[at+i:]
	}
	return ""
}

// Matches reports whether a may act as the given owner: it is the owner, or the
// owner is one of its tokens. A token does not stand for its user, nor for the
// user's other tokens.
func (a AuthID) Matches(owner AuthID) bool {
	return a == owner || owner.IsToken() && owner.User() == a
}

// String returns the text form.
func (a AuthID) String() string { return string(a) }
