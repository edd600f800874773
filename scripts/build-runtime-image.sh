#!/usr/bin/env bash
# Builds the runtime image: images/build-base.sh, then the agent on top as entry point. Nothing is built
# when base, agent and Dockerfile are the ones the existing image was made of.
#
# Usage: scripts/build-runtime-image.sh [--tag NAME] [--agent FILE] [--base KIND] [--ca-file FILE] [--refresh]
#   --tag NAME    name of the image (mao-runtime:latest)
#   --agent FILE  the agent's static binary (build/release/runtime-agent/mao-runtime-agent)
#   --base, --ca-file, --refresh: see images/build-base.sh
# MAO_IMAGE_BASE and MAO_IMAGE_CA_FILE in the environment are defaults for --base and --ca-file.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly hash_label=mao.image-hash

say() { printf 'runtime image: %s\n' "$*"; }
die() { printf 'runtime image: error: %s\n' "$*" >&2; exit 1; }

tag=mao-runtime:latest
agent=$root/build/release/runtime-agent/mao-runtime-agent
base_arguments=()
[ -z "${MAO_IMAGE_BASE:-}" ] || base_arguments+=(--base "$MAO_IMAGE_BASE")
[ -z "${MAO_IMAGE_CA_FILE:-}" ] || base_arguments+=(--ca-file "$MAO_IMAGE_CA_FILE")
while [ $# -gt 0 ]; do
    case $1 in
        --tag) tag=${2:?--tag needs a value}; shift 2 ;;
        --agent) agent=${2:?--agent needs a value}; shift 2 ;;
        --base | --ca-file) base_arguments+=("$1" "${2:?$1 needs a value}"); shift 2 ;;
        --refresh) base_arguments+=("$1"); shift ;;
        -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
        *) die "unknown argument '$1'; see --help" ;;
    esac
done

docker version >/dev/null 2>&1 || die "no Docker engine answers; 'scripts/dev setup' starts one"
[ -x "$agent" ] || die "the agent is not built: '$agent' is missing; run 'scripts/dev build' first"
# The image promises nothing about libraries, and a site may put the agent into an image of its own.
if command -v readelf >/dev/null && readelf --program-headers "$agent" | grep -q INTERP; then
    die "the agent '$agent' is not static; it must run in any image"
fi

readonly started=$SECONDS
base=$("$root/images/build-base.sh" "${base_arguments[@]}")
base_id=$(docker image inspect --format '{{.Id}}' "$base")
hash=$({ printf '%s\n' "$base_id"; cat "$root/images/Dockerfile" "$root/images/gitconfig" "$agent"; } |
    sha256sum | cut -c1-16)

image_facts() { docker image inspect --format "$1" "$tag" 2>/dev/null || true; }

report() {
    local bytes
    bytes=$(image_facts '{{.Size}}')
    say "$tag $1, $((bytes / 1000000)) MB, took $((SECONDS - started)) s"
}

if [ "$(image_facts "{{index .Config.Labels \"$hash_label\"}}")" = "$hash" ]; then
    report "is up to date"
    exit 0
fi

context=$(mktemp -d "${TMPDIR:-/tmp}/mao-image.XXXXXX")
trap 'rm -rf "$context" "$context.log"' EXIT
install -m 0755 "$agent" "$context/mao-runtime-agent"
install -m 0644 "$root/images/gitconfig" "$context/gitconfig"

previous=$(image_facts '{{.Id}}')
docker build --quiet --build-arg BASE="$base" --label "$hash_label=$hash" --tag "$tag" \
    --file "$root/images/Dockerfile" "$context" >"$context.log" 2>&1 ||
    { cat "$context.log" >&2; die "docker build failed, its messages are above"; }
# The image that lost its last name goes, unless a container still uses it. Removed by its id, an image takes the
# one other name it may have along.
if [ -n "$previous" ] && [ "$previous" != "$(image_facts '{{.Id}}')" ] &&
    [ "$(docker image inspect --format '{{len .RepoTags}}' "$previous" 2>/dev/null)" = 0 ]; then
    docker image rm "$previous" >/dev/null 2>&1 || true
fi
report built
