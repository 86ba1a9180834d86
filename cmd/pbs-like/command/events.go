package command

import (
	"github.com/pbs-like/pbs-like/datastore"
)

// events turns what the library tells into messages and progress.
func (p *program) events() datastore.Events {
	return datastore.Events{
		Progress: p.showProgress,
		Waiting:  func(err error) { p.log.Warn().Msg("waiting: " + err.Error()) },
		Notice:   p.notice,
	}
}

func (p *program) showProgress(progress datastore.Progress) {
	if p.settings.quiet {
		return
	}
	if text := p.progress.update(progress); text != "" {
		p.log.Info().Msg(text)
	}
}

func (p *program) notice(n datastore.Notice) {
	event := p.log.Info()
	text := n.Text
	if n.Err != nil {
		event = p.log.Warn()
		text += ": " + n.Err.Error()
	}
	if n.Object != "" {
		text = n.Object + ": " + text
	}
	if p.noticed != nil {
		if _, before := p.noticed.LoadOrStore(text, true); before {
			return
		}
	}
	event.Msg(text)
}
