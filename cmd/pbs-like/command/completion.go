package command

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

func (p *program) completionCommand() *cli.Command {
	const args = "SHELL"
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the completion script for a shell: bash or zsh",
		ArgsUsage: args,
		Description: "For bash:  source <(" + programName + " completion bash)\n\n" +
			"For zsh:   source <(" + programName + " completion zsh)\n\n" +
			"Namespaces, groups, snapshots and archives are completed from the datastore of --datastore or " + envDatastore + ".",
		Action: withArgs(args, p.completion),
	}
}

func shells() []string { return []string{"bash", "zsh"} }

func (p *program) completion(c *cli.Context) error {
	script := ""
	switch shell := c.Args().First(); shell {
	case "bash":
		script = bashCompletion
	case "zsh":
		script = zshCompletion
	default:
		return usageErrorf("no completion for %q: must be %s", shell, strings.Join(shells(), " or "))
	}
	_, err := io.WriteString(p.out, script)
	return err
}

// The line goes to us as one string: bash itself would take it apart at each
// colon, and a snapshot has two of them.
const bashCompletion = `# bash completion for pbs-like
_pbs_like() {
	local IFS=$'\n' word=${COMP_WORDS[COMP_CWORD]}
	local -a answer
	mapfile -t answer < <("${COMP_WORDS[0]}" __complete bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
	COMPREPLY=("${answer[@]:1}")
	[[ $word == [:=] ]] && word=
	case ${answer[0]} in
	nospace) compopt -o nospace 2>/dev/null ;;
	files)
		compopt -o filenames 2>/dev/null
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")
		;;
	dirs)
		compopt -o filenames 2>/dev/null
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$word")
		;;
	esac
}
complete -F _pbs_like pbs-like
`

const zshCompletion = `#compdef pbs-like
# zsh completion for pbs-like
_pbs_like() {
	local -a answer
	answer=("${(@f)$(${(Q)words[1]} __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
	local todo=$answer[1]
	shift answer
	case $todo in
	nospace) compadd -S '' -a answer ;;
	files) compadd -a answer; compset -P '*:'; _files ;;
	dirs) _files -/ ;;
	*) compadd -V pbs-like -a answer ;;
	esac
}
if [[ $funcstack[1] == _pbs_like ]]; then
	_pbs_like "$@"
elif (( $+functions[compdef] )); then
	compdef _pbs_like pbs-like
fi
`
