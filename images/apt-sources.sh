#!/usr/bin/env bash
# Prints apt source lines of one Debian suite as this machine's own apt is configured, so that the image
# comes from the mirror the site uses and no host name has to be written here.
# Usage: images/apt-sources.sh SUITE
set -euo pipefail

readonly suite=${1:?usage: images/apt-sources.sh SUITE}

# The origin is asked for, since vendors' repositories use Debian's suite names, too.
# shellcheck disable=SC2016 # the $(…) are apt's, not the shell's
lines=$(
    apt-get indextargets \
        --format '$(CREATED_BY)|$(ORIGIN)|$(RELEASE)|$(REPO_URI)|$(COMPONENT)' |
        awk -F'|' -v suite="$suite" '
            $1 == "Packages" && $2 == "Debian" && $5 == "main" &&
            ($3 == suite || $3 == suite "-updates" || $3 == suite "-security") {
                print "deb", $4, $3, $5
            }' | sort -u
)

if ! grep -q " $suite main$" <<<"$lines"; then
    cat >&2 <<MESSAGE
apt-sources: error: this machine's apt knows no Debian '$suite' source.
  On Debian 12: run 'apt-get update' first (its package lists tell which sources are Debian's).
  Elsewhere:    build from an image instead, 'scripts/build-runtime-image.sh --base IMAGE'.
MESSAGE
    exit 1
fi
printf '%s\n' "$lines"
