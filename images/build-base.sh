#!/usr/bin/env bash
# Builds the base image of the runtime: Debian with the packages of images/packages.txt, without the agent.
# Prints its tag, mao-runtime-base:HASH, on stdout; everything else goes to stderr. HASH covers all that
# decides the content here (package list, scripts, kind of base, site CA), so an existing tag is reused.
#
# Usage: images/build-base.sh [--base mmdebstrap|IMAGE] [--ca-file FILE] [--refresh]
#   --base mmdebstrap  from Debian packages, no image registry needed (default)
#   --base IMAGE       from a Debian image that the engine has or can pull, e.g. debian:bookworm-slim
#   --ca-file FILE     trust these PEM certificates in the image, for sites with a CA of their own
#   --refresh          build again though the tag exists, to pick up newer packages
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly suite=bookworm
readonly repository=mao-runtime-base

say() { printf 'base image: %s\n' "$*" >&2; }
die() { printf 'base image: error: %s\n' "$*" >&2; exit 1; }

base=mmdebstrap
ca_file=
refresh=no
while [ $# -gt 0 ]; do
    case $1 in
        --base) base=${2:?--base needs a value}; shift 2 ;;
        --ca-file) ca_file=${2:?--ca-file needs a value}; shift 2 ;;
        --refresh) refresh=yes; shift ;;
        *) die "unknown argument '$1'; see the head of images/build-base.sh" ;;
    esac
done

[ -z "$ca_file" ] || [ -r "$ca_file" ] || die "cannot read the CA file '$ca_file'"

mapfile -t packages < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$here/packages.txt")

hash=$(
    {
        printf '%s\n' "$base" "$suite" "$(uname -m)" "${packages[@]}"
        # Comments do not reach the image: editing one must not cost a minute on every machine.
        sed -E 's/^[[:space:]]*#.*//' "$here/build-base.sh" "$here/apt-sources.sh" "$here/base.Dockerfile"
        [ -z "$ca_file" ] || cat "$ca_file"
    } | sha256sum | cut -c1-16
)
readonly hash tag=$repository:$hash

if [ "$refresh" = no ] && docker image inspect "$tag" >/dev/null 2>&1; then
    say "$tag is up to date"
    printf '%s\n' "$tag"
    exit 0
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/mao-base.XXXXXX")
trap 'rm -rf "$work" "$work.log"' EXIT

# Manuals and translations are a fifth of the image and no command needs them; copyright files stay.
readonly -a dpkg_options=(
    'path-exclude=/usr/share/man/*'
    'path-exclude=/usr/share/locale/*'
    'path-exclude=/usr/share/info/*'
    'path-exclude=/usr/share/doc/*'
    'path-include=/usr/share/doc/*/copyright'
)

# apt's proxies and CA files of this machine, for the build alone: mmdebstrap writes such options into
# the image, from where a hook below removes them (a proxy may carry a password).
site_apt_options() {
    apt-config dump | grep -E '^Acquire::(http|https)(::.*)?::(Proxy|CaInfo|Proxy-Auto-Detect) ' |
        grep -v ' "";$' || true
}

build_from_packages() {
    command -v mmdebstrap >/dev/null || die "mmdebstrap is not installed; run 'apt-get install mmdebstrap'"
    [ "$(id -u)" = 0 ] || die "mmdebstrap needs root here; run this as root"

    "$here/apt-sources.sh" "$suite" >"$work/sources.list"
    # What a user's apt-get in the container will read: the same mirrors, without credentials.
    sed -E 's#//[^/@]*@#//#' "$work/sources.list" >"$work/image-sources.list"

    local -a arguments=()
    local option
    while IFS= read -r option; do arguments+=(--aptopt="$option"); done < <(site_apt_options)
    for option in "${dpkg_options[@]}"; do arguments+=(--dpkgopt="$option"); done
    if [ -n "$ca_file" ]; then
        arguments+=(
            --customize-hook="mkdir -p \"\$1/usr/local/share/ca-certificates\""
            --customize-hook="upload '$ca_file' /usr/local/share/ca-certificates/site.crt"
            --customize-hook="chroot \"\$1\" update-ca-certificates"
        )
    fi
    arguments+=(
        --customize-hook="upload '$work/image-sources.list' /etc/apt/sources.list"
        --customize-hook="rm -f \"\$1/etc/apt/apt.conf.d/99mmdebstrap\""
        # The build machine's name and resolver are nobody's business; Docker mounts its own.
        --customize-hook="rm -f \"\$1/etc/resolv.conf\" \"\$1/etc/hostname\""
    )

    local include
    include=$(IFS=,; printf '%s' "${packages[*]}")
    say "installing Debian packages (mmdebstrap, $suite, ${#packages[@]} named packages)"
    # The tag is given only once both ends of the pipe have succeeded: half an image must not get it.
    mmdebstrap --quiet --mode=root --variant=minbase --include="$include" "${arguments[@]}" \
        "$suite" - "$work/sources.list" |
        docker import - "$repository:building-$hash" >/dev/null ||
        { docker image rm "$repository:building-$hash" >/dev/null 2>&1 || true
          die "mmdebstrap failed, its messages are above; is the Debian mirror reachable ('apt-get update')?"; }
    docker tag "$repository:building-$hash" "$tag"
    docker image rm "$repository:building-$hash" >/dev/null
}

build_from_image() {
    mkdir "$work/site-ca"
    [ -z "$ca_file" ] || cp "$ca_file" "$work/site-ca/site.crt"
    printf '%s\n' "${dpkg_options[@]}" >"$work/dpkg-options"
    printf '%s\n' "${packages[@]}" >"$work/packages"
    local -a arguments=()
    # A pull for the sake of newer packages; never where the base is an image of this machine only.
    [ "$refresh" = no ] || arguments+=(--no-cache)
    say "installing Debian packages on top of $base"
    docker build --quiet "${arguments[@]}" --build-arg BASE="$base" --tag "$tag" \
        --file "$here/base.Dockerfile" "$work" >"$work.log" 2>&1 ||
        { cat "$work.log" >&2
          die "docker build on '$base' failed, its messages are above; without a registry use '--base mmdebstrap'"; }
}

readonly started=$SECONDS
if [ "$base" = mmdebstrap ]; then build_from_packages; else build_from_image; fi
say "built $tag in $((SECONDS - started)) s"
printf '%s\n' "$tag"
