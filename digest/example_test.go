package digest_test

import (
	"fmt"

	"github.com/pbs-like/pbs-like/digest"
)

func Example() {
	d := digest.Of([]byte("hello world"))
	fmt.Println(d)
	back, err := digest.Parse(d.String())
	fmt.Println(back == d, err)
	// Output:
	// b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9
	// true <nil>
}
