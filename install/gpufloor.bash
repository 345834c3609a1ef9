# Completion for gpufloor in bash. Commands, options and their values come from the program itself
# (--help, and what it expects where a value is wrong), so that they are those of the version that is
# typed.

_gpufloor_ask() { # _gpufloor_ask ARGUMENT...
    env -u ARGP_HELP_FMT LC_ALL=C "${COMP_WORDS[0]/#\~/$HOME}" "$@" 2>&1 </dev/null
}

# "--name" or "--name=VALUE" of each option of a command; of gpufloor itself, for no command.
_gpufloor_options() {
    _gpufloor_ask "$@" --help | sed -n 's/^ \{1,6\}\(-., \)\{0,1\}\(--[a-z-]*\(=[^ ]*\)\{0,1\}\).*/\2/p'
}

_gpufloor_commands() {
    _gpufloor_ask --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
    echo help
}

# The words of "expected one of A B C".
_gpufloor_expected() { # _gpufloor_expected COMMAND OPTION
    _gpufloor_ask "$1" "$2=?" | sed -n 's/.*expected \(one\|some\) of \([^;:]*\).*/\2/p' | tr -d ,
}

# Words to choose from (-W), or what compgen finds; each that begins as the current one does.
_gpufloor_reply() { # _gpufloor_reply COMPGEN_ARGUMENT...
    mapfile -t COMPREPLY < <(compgen "$@" -- "$current")
}

_gpufloor_files() {
    compopt -o filenames 2>/dev/null
    _gpufloor_reply -f
}

_gpufloor_value() { # _gpufloor_value COMMAND OPTION
    local value
    value=$(_gpufloor_options "$1" | sed -n "s/^$2=//p")
    case $2 in --section | --allow) value=$(_gpufloor_expected "$1" "$2") ;; --counters)
        [ "$value" = FILE ] || value=$(_gpufloor_expected "$1" "$2") ;;
    esac
    case $value in
    FILE | FILE...) _gpufloor_files ;;
    DIR) compopt -o filenames 2>/dev/null; _gpufloor_reply -d ;;
    *\|*) _gpufloor_reply -W "${value//|/ }" ;;
    *[a-z]*) _gpufloor_reply -W "$value" ;;
    esac
}

# The option that the current word is a value of; nothing for none.
_gpufloor_valued() { # _gpufloor_valued COMMAND
    local before=${COMP_WORDS[COMP_CWORD - 1]}
    case $before in
    =) echo "${COMP_WORDS[COMP_CWORD - 2]}" ;;
    --*) _gpufloor_options "$1" | sed -n "s/^\($before\)=.*/\1/p" ;;
    -[a-z]) _gpufloor_ask "$1" --help | sed -n "s/^ *$before, \(--[a-z-]*\)=.*/\1/p" ;;
    esac
}

_gpufloor() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} option
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        case $current in
        -*) _gpufloor_reply -W "$(_gpufloor_options)" ;;
        *) _gpufloor_reply -W "$(_gpufloor_commands)" ;;
        esac
        return
    fi
    if [ "$command" = help ]; then
        [ "$COMP_CWORD" != 2 ] || _gpufloor_reply -W "$(_gpufloor_commands)"
        return
    fi
    [[ " $(_gpufloor_commands | tr '\n' ' ')" = *" $command "* ]] || return
    if [ "$current" = = ]; then # behind it nothing is typed yet
        option=${COMP_WORDS[COMP_CWORD - 1]} current=
    else
        option=$(_gpufloor_valued "$command")
    fi
    if [ -n "$option" ]; then
        _gpufloor_value "$command" "$option"
        return
    fi
    case $current in
    -*)
        _gpufloor_reply -W "$(_gpufloor_options "$command" | sed 's/=.*/=/')"
        [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null
        return
        ;;
    esac
    case $command in
    list | run | counters) _gpufloor_reply -W "$(_gpufloor_ask list --names)" ;;
    *) _gpufloor_files ;;
    esac
}

complete -F _gpufloor gpufloor
