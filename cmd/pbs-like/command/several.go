package command

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"
)

// parseArgs reads the first n arguments, all before anything is done with one of them.
func parseArgs[T any](c *cli.Context, n int, parse func(*cli.Context, int) (T, error)) ([]T, error) {
	list := make([]T, 0, n)
	for i := range n {
		v, err := parse(c, i)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// forEach does something with each of several objects. One that fails does not
// stop the others: it is named, and the whole is then done in part.
func forEach[T any](p *program, c *cli.Context, objects []T, do func(T) error) error {
	var failed []error
	for _, object := range objects {
		if c.Context.Err() != nil {
			failed = append(failed, c.Context.Err())
			break
		}
		if err := do(object); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 || len(failed) == len(objects) || c.Context.Err() != nil {
		return errors.Join(failed...)
	}
	return p.partly(failed, fmt.Sprintf("%d of %d failed", len(failed), len(objects)))
}

// partly names each failure and gives the error of something that is done in part.
func (p *program) partly(failed []error, text string) error {
	for _, err := range failed {
		p.log.Error().Msg(err.Error())
	}
	return fmt.Errorf("%w: %s", errPartly, text)
}
