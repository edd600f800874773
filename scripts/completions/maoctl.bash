# Completion of maoctl for bash: source this file, or put it into /usr/share/bash-completion/completions/maoctl.
# Ids of users are asked of the daemon; without one there are none.

_maoctl_users() {
    local at=()
    [ -n "$1" ] && at=(--socket "$1")
    maoctl "${at[@]}" ps --quiet 2>/dev/null
}

_maoctl() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local commands='ps inspect plan exec shell terminals credentials stop rm doctor config version'
    local options='--socket --json --help' command='' action='' user='' name='' socket='' word i
    COMPREPLY=()
    case $previous in
        --socket | --workdir) mapfile -t COMPREPLY < <(compgen -f -- "$current") && return ;;
        --session | --timeout | --env | --attach | --app-id) return ;;
    esac
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
            --) return ;; # the command's own words
            --socket) socket=${COMP_WORDS[++i]} ;;
            --workdir | --session | --timeout | --env | --attach | --app-id) i=$((i + 1)) ;;
            -*) ;;
            *)
                if [ -z "$command" ]; then command=$word
                elif [ "$command" = credentials ] && [ -z "$action" ]; then action=$word
                elif [ -z "$user" ]; then user=$word
                else name=$word; fi
                ;;
        esac
    done
    case $command in
        '') options="$options --version" ;;
        ps) options="$options --quiet" ;;
        shell) options="$options --attach --workdir --session" ;;
        credentials)
            case $action in
                set) options="$options --app-id" ;;
                rm) options="$options --all" ;;
            esac
            ;;
        exec) options="$options --workdir --session --timeout --env --no-stdin --" ;;
    esac
    local words=''
    case $current in
        -*) words=$options ;;
        *)
            case $command in
                '') words=$commands ;;
                credentials)
                    case $action in
                        '') words='set ls rm rotate-key' ;;
                        set | ls | rm)
                            if [ -z "$user" ]; then words=$(_maoctl_users "$socket")
                            elif [ "$action" != ls ] && [ -z "$name" ]; then words='git/ maoToken ecpToken larkUat'; fi
                            ;;
                    esac
                    ;;
                inspect | plan | exec | shell | terminals | stop | rm) [ -n "$user" ] || words=$(_maoctl_users "$socket") ;;
            esac
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _maoctl maoctl
