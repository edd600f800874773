#!/usr/bin/env bash
# Makes sure that a Docker engine answers on /var/run/docker.sock; starts one where none does.
# Harmless to repeat: an engine that answers is left alone.
set -euo pipefail

readonly socket=/var/run/docker.sock
readonly log=/var/log/dockerd.log
readonly start_seconds_max=60

say() { printf 'engine: %s\n' "$*"; }
die() { printf 'engine: error: %s\n' "$*" >&2; exit 1; }

# /_ping touches neither containerd nor runc, so it answers in a millisecond on a busy machine, too.
engine_answers() {
    [ -S "$socket" ] || return 1
    [ "$(curl --silent --max-time 2 --unix-socket "$socket" http://engine/_ping 2>/dev/null)" = OK ]
}

wait_for_engine() {
    local deadline=$((SECONDS + start_seconds_max))
    while ! engine_answers; do
        if [ -n "${1:-}" ] && ! kill -0 "$1" 2>/dev/null; then return 1; fi
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.2
    done
}

if engine_answers; then
    say "an engine answers on $socket"
    exit 0
fi

[ "$(id -u)" = 0 ] || die "no engine answers on $socket and only root can start one; run this as root"
command -v dockerd >/dev/null || die "dockerd is not installed; run 'scripts/dev setup' or 'apt-get install docker.io'"

if [ -d /run/systemd/system ]; then
    say "starting docker.service"
    systemctl start docker.service || die "docker.service does not start; see 'journalctl -u docker.service'"
    wait_for_engine || die "docker.service runs but does not answer within ${start_seconds_max} s; see 'journalctl -u docker.service'"
else
    say "no systemd here: starting dockerd in the background, log in $log"
    # A pid file left by an engine that was killed makes the next one refuse to start.
    if [ -f /var/run/docker.pid ] && ! kill -0 "$(cat /var/run/docker.pid)" 2>/dev/null; then
        rm -f /var/run/docker.pid
    fi
    # Own session: the engine must outlive this script and the terminal it was called from.
    setsid nohup dockerd >>"$log" 2>&1 </dev/null &
    if ! wait_for_engine "$!"; then
        tail -n 15 "$log" >&2 || true
        die "dockerd does not answer within ${start_seconds_max} s; the end of $log is above"
    fi
fi
say "the engine answers on $socket"
