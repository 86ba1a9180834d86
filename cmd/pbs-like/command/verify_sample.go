package command

import (
	"crypto/rand"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
)

// sampleOptions reads --sample, as a part or in percent, and --seed.
func sampleOptions(c *cli.Context, opts *datastore.VerifyOptions) error {
	text := c.String(flagSample)
	if text == "" {
		if c.IsSet(flagSeed) {
			return usageErrorf("--%s is for --%s", flagSeed, flagSample)
		}
		return nil
	}
	number, percent := strings.CutSuffix(text, "%")
	part, err := strconv.ParseFloat(number, 64)
	if percent {
		part /= 100
	}
	if err != nil || !(part > 0 && part <= 1) {
		return usageErrorf("--%s %q: must be a part, such as 5%% or 0.05", flagSample, text)
	}
	opts.Sample, opts.Seed = part, c.Uint64(flagSeed)
	if !c.IsSet(flagSeed) {
		opts.Seed = randomSeed()
	}
	return nil
}

// randomSeed is short enough to be typed again.
func randomSeed() uint64 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return uint64(binary.LittleEndian.Uint32(b[:]))
}
