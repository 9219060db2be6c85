#!/bin/sh
# Serve Blockscope to a class: one process a core, a proxy before them, all started anew where one dies.
#
#   PROCESSES   how many, at most 10 (one a core)
#   SITE        where readers come from (":8501", or a name, for which Caddy fetches a certificate)
#   DATA        the one folder that is written to
set -eu
umask 077
cd "$(dirname "$0")/../.."
export PROCESSES="${PROCESSES:-$(nproc)}" SITE="${SITE:-:8501}" DATA="${DATA:-build/serve}"
export PYTHON="${PYTHON:-python3}" FIRST_PORT="${FIRST_PORT:-860}"
[ "$PROCESSES" -ge 1 ] && [ "$PROCESSES" -le 10 ] || { echo "PROCESSES is 1 to 10" >&2; exit 2; }

UPSTREAMS=$(seq -s " " -f "127.0.0.1:${FIRST_PORT}%g" 0 $((PROCESSES - 1)))
secret=$(od -An -N32 -tx1 /dev/urandom | tr -d " \n")
export UPSTREAMS COOKIE_SECRET="$secret" STREAMLIT_SERVER_COOKIE_SECRET="$secret"
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(( ($(nproc) + PROCESSES - 1) / PROCESSES ))}"

mkdir -p "$DATA"
export BLOCKSCOPE_DATA="$DATA" XDG_DATA_HOME="$DATA" XDG_CONFIG_HOME="$DATA" PYTHONDONTWRITEBYTECODE=1
exec "$PYTHON" -m supervisor.supervisord -c assets/serve/supervisord.conf
