# Completion of maoctl for bash: source this file, or put it into /usr/share/bash-completion/completions/maoctl.
# Ids of users are asked of the daemon; without one there are none.

_maoctl_users() {
    local at=()
    [ -n "$1" ] && at=(--socket "$1")
    maoctl "${at[@]}" ps --quiet 2>/dev/null
}

_maoctl() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local commands='ps inspect plan exec shell terminals stop rm doctor config version'
    local options='--socket --json --help' command='' user='' socket='' word i
    COMPREPLY=()
    case $previous in
        --socket | --workdir) mapfile -t COMPREPLY < <(compgen -f -- "$current") && return ;;
        --session | --timeout | --env | --attach) return ;;
    esac
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
            --) return ;; # the command's own words
            --socket) socket=${COMP_WORDS[++i]} ;;
            --workdir | --session | --timeout | --env | --attach) i=$((i + 1)) ;;
            -*) ;;
            *) if [ -z "$command" ]; then command=$word; else user=$word; fi ;;
        esac
    done
    case $command in
        '') options="$options --version" ;;
        ps) options="$options --quiet" ;;
        shell) options="$options --attach --workdir --session" ;;
        exec) options="$options --workdir --session --timeout --env --no-stdin --" ;;
    esac
    local words=''
    case $current in
        -*) words=$options ;;
        *)
            case $command in
                '') words=$commands ;;
                inspect | plan | exec | shell | terminals | stop | rm) [ -n "$user" ] || words=$(_maoctl_users "$socket") ;;
            esac
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _maoctl maoctl
