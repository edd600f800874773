#!/usr/bin/env bash
# Shows what mao is for: two users' shell commands run in two real containers, each blind to the other's
# files. Uses a daemon of its own with its own directories and instance name, and leaves nothing behind.
# Needs 'scripts/dev setup' and 'scripts/dev build'; 'scripts/dev demo' does all three.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly controld=$root/build/release/controlplane/mao-controld
readonly maoctl=$root/build/release/controlplane/maoctl
# The two users' names; unlikely ones, since container names are shared by all instances on a host.
readonly ann=demo-ann-$$ bob=demo-bob-$$

if [ -t 1 ]; then bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' plain=$'\e[0m'; else bold='' dim='' green='' plain=''; fi
step() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
ok() { printf '%s  ✓ %s%s\n' "$green" "$*" "$plain"; }
die() {
    printf 'demo: error: %s\n' "$*" >&2
    if [ -s "${log:-}" ]; then
        printf '%s\n' '--- the end of the daemon'"'"'s log ---' >&2
        tail -n 20 "$log" >&2
    fi
    exit 1
}

for program in "$controld" "$maoctl"; do
    [ -x "$program" ] || die "'$program' is missing; run 'scripts/dev demo', which builds it"
done
docker image inspect mao-runtime:latest >/dev/null 2>&1 ||
    die "no image mao-runtime:latest or no engine; run 'scripts/dev demo', which sets both up"

# Not below /tmp: a container has a /tmp of its own, and paths are the same inside and outside.
# mktemp's directory is 0700: nobody else on this host looks into the demo's roots.
work=$(mktemp -d /var/tmp/mao.XXXXXX)
log=$work/controld.log
daemon=

cleanup() {
    local status=$?
    trap - EXIT INT TERM
    step "Cleaning up"
    # Remove through the daemon first, as an operator would; the engine is asked for what is left.
    if [ -n "$daemon" ] && kill -0 "$daemon" 2>/dev/null; then
        "$maoctl" rm "$ann" >/dev/null 2>&1 || true
        "$maoctl" rm "$bob" >/dev/null 2>&1 || true
        kill -TERM "$daemon" 2>/dev/null || true
        wait "$daemon" 2>/dev/null || true
    fi
    docker ps --all --quiet --filter "label=mao.instance=$MAO_INSTANCE" |
        xargs --no-run-if-empty docker rm --force --volumes >/dev/null 2>&1 || true
    rm -rf "$work"
    ok "containers and files of the demo are gone"
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

mkdir -p "$work"/{runtime,users,workspace,userskills,uploads,skills,channels,deps,state}
export MAO_CLOUD_RUNTIME=docker
export MAO_INSTANCE=demo-$$
export MAO_CONTAINER_IMAGE=mao-runtime:latest
export MAO_RUNTIME_DIR=$work/runtime
export MAO_USER_HOME_DIR=$work/users
export MAO_WORKSPACE_ROOT=$work/workspace
export USER_SKILLS_DIR=$work/userskills
export FILE_UPLOAD_DIR=$work/uploads
export MAO_SHARED_SKILLS_DIR=$work/skills
export MAO_CONTAINER_CHANNEL_DIR=$work/channels
export MAO_CONTAINER_DEPS_DIR=$work/deps
export MAO_STATE_DIR=$work/state
export MAO_API_SOCKET=$work/controld.sock

# run USER COMMAND...: shows the command as a person would type it and its output, indented; leaves the
# output in $output and returns the command's exit code.
output=
run() {
    local argument line="$ maoctl exec $1 --" status=0
    for argument in "${@:2}"; do
        case $argument in *[!a-zA-Z0-9_./-]*) line+=" \"$argument\"" ;; *) line+=" $argument" ;; esac
    done
    printf '  %s%s%s\n' "$dim" "$line" "$plain"
    output=$("$maoctl" exec --no-stdin "$1" -- "${@:2}" 2>&1) || status=$?
    printf '%s\n' "$output" | sed 's/^/    /'
    return "$status"
}

step "1. Start the control plane (instance $MAO_INSTANCE, roots under $work)"
"$controld" >"$log" 2>&1 &
daemon=$!
deadline=$((SECONDS + 15))
until "$maoctl" ps >/dev/null 2>&1; do
    kill -0 "$daemon" 2>/dev/null || die "mao-controld ended before it answered"
    [ "$SECONDS" -lt "$deadline" ] || die "mao-controld does not answer on $MAO_API_SOCKET within 15 s"
    sleep 0.1
done
ok "it answers on $MAO_API_SOCKET"

step "2. A first command of each user: their containers are made on the way"
secret_of() { printf '%s/%s/secret.txt' "$MAO_WORKSPACE_ROOT" "$1"; }
run "$ann" sh -c "echo 'written by Ann' > $(secret_of "$ann"); readlink /proc/self/ns/mnt" || die "Ann's command failed"
ann_namespace=$output
run "$bob" sh -c "echo 'written by Bob' > $(secret_of "$bob"); readlink /proc/self/ns/mnt" || die "Bob's command failed"
[ "$ann_namespace" != "$output" ] || die "both commands ran in the same mount namespace '$output'"
run "$ann" cat "$(secret_of "$ann")" || die "Ann cannot read the own file"
ok "two users, two containers, each with its own files"

step "3. The containers"
"$maoctl" ps | sed 's/^/    /'

step "4. Each looks for the other's files"
# expect_blind WHO OTHER NAME OTHERS_NAME
expect_blind() {
    if run "$1" cat "$(secret_of "$2")"; then die "$3 can read $4's file"; fi
    # Any other failure (no daemon, no container) would prove nothing.
    [[ $output == *"No such file or directory"* ]] || die "$3's command failed for another reason"
    ok "$3 cannot read $4's file"
    local seen
    seen=$("$maoctl" exec --no-stdin "$1" -- sh -c "ls '$MAO_WORKSPACE_ROOT'; cat /proc/self/mountinfo") ||
        die "$3's container does not answer"
    case $seen in
        *"$2"*) die "$3 sees a path that names $4" ;;
        *"$1"*) ok "nor does any path or mount in $3's container name $4" ;;
        *) die "$3 does not see the own workspace" ;;
    esac
}
expect_blind "$ann" "$bob" Ann Bob
expect_blind "$bob" "$ann" Bob Ann

step "5. The host, which is trusted, sees both"
for user in "$ann" "$bob"; do
    printf '    %s: %s\n' "$(secret_of "$user")" "$(cat "$(secret_of "$user")")"
done

step "Done: the same kernel, two users, and the mount list between them."
