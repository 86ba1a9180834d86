package goldenspec_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/pbs-like/pbs-like/internal/goldenspec"
)

func ExampleExpand() {
	b, err := goldenspec.Expand("text:1:20+zero:2+hex:0aFF")
	fmt.Printf("%q %v\n", b, err)
	// Output: "w165 w517 w103 w413 \x00\x00\n\xff" <nil>
}

// The sums are those that the original programs' run noted beside its inputs.
func TestSpecsExpandToTheDataOfTheGoldenVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ spec, sum string }{
		{"str:", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"str:hello world", "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"},
		{"zero:13", "dd46c3eebb1884ff3b5258c0a2fc9398e560a29e0780d4b53869b6254aa46a96"},
		{"zero:4194304", "bb9f8df61474d25e71fa00722318cd387396ca1736605e1248821cc0de3d3af8"},
		{"xs64:11:0", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"xs64:1:1", "1f18d650d205d71d934c3646ff5fac1c096ba52eba4cf758b865364f4167d3cd"},
		{"xs64:1:100", "f5b6cf8c6e95d238abfb0f81924b96a7ac0066b31cf73ed6e821c8ef62aa7cb9"},
		{"xs64:12:1048575", "b90fa935032e4ef5670383fd4b4df94509e3e10f6540ee6ddf2c3e5fa20eb432"},
		{"text:1:100", "c54ab208f90f59a8b9fb8d01e62eda12d553739e13f0006bfb3e737c5d6fdd61"},
		{"text:1:1M", "4fa7b70bcff35c684569ce00670d847ad5f1728b6aa3968306953c7676c22dae"},
		{"rep:1:512:4M", "1ea55488bb22a3946684a641b5e45b0605f977241a3ff8b71a8fe1c88d9c35eb"},
		{"ctr32:1M", "21b9bf484e8bb6ca346d2cd113f24594cadb15c31c3e6ea4bd99897b1e728282"},
		{"const:0:100000", "9192c25b734fcbadbe32dadc28089c60db0e39f90cc20ce2e5733f57261acc0c"},
		{"const:0xff:40M", "a37a157b20b4b01a61c868b0b31f3dac27e90ea45ab4c4e3b9a324554fb86181"},
		{"xs64:0x123456789abcdef:32M", "6aa7e6dec76f1e60a37564483e31f6c8608fb1b6e08fbe719a00c6923ff6a5da"},
		{"rep:1:4096:9M+zero:8M+text:9:300000+xs64:3:50000", "1f84ca7c96e737b508df78a9ac9a9ce4cd4b934cd7e4eae9d5ec37186ab007af"},
		{"rep:1:4096:5M+str:CHANGED+rep:2:4096:4194297+zero:8M+text:9:300000+xs64:3:50000", "f9f8130c1df9560aa0bb9d506ace8677b1ab960041608423be2fdf8666a47e0c"},
	} {
		sum := sha256.Sum256(goldenspec.Bytes(t, c.spec))
		if got := hex.EncodeToString(sum[:]); got != c.sum {
			t.Errorf("%s: sha256 is %s, want %s", c.spec, got, c.sum)
		}
	}
}

func TestBadSpecsAreRefused(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"", "zero", "zero:", "zero:x", "zero:-1", "zero:1:2", "xs64:1", "rep:1:0:5", "const:256:1", "hex:0",
		"nothing:1", "zero:1++zero:1", "zero:1G", "zero:257M", "zero:1+zero:256M", "zero:0xffffffffffffffffM",
	} {
		if b, err := goldenspec.Expand(spec); err == nil {
			t.Errorf("Expand(%q) gives %d bytes, want an error", spec, len(b))
		}
	}
}

func FuzzExpandNeverPanics(f *testing.F) {
	for _, spec := range []string{"text:1:20+zero:2", "rep:1:3:10", "const:1:2", "ctr32:5", "hex:00", "xs64:1:9", "str:a"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		if len(spec) > 20 {
			t.Skip("a short spec says enough, and a long one can ask for much work")
		}
		_, _ = goldenspec.Expand(spec)
	})
}
