#!/bin/sh
# Serve Blockscope to a class: one process a core, a proxy before them, all started anew where one dies.
#
#   PROCESSES   how many, at most 10 (one a core)
#   SITE        where readers come from (":8501", or a name, for which Caddy fetches a certificate)
#   DATA        the one folder that is written to
#   BLOCKSCOPE_MEMORY_GIB   of a process for models and runs, whatever the device. By default on a CPU 2, and
#               where the container has a limit what fits; on an accelerator a part of what is free there
set -eu
umask 077
cd "$(dirname "$0")/../.."
export PROCESSES="${PROCESSES:-$(nproc)}" SITE="${SITE:-:8501}" DATA="${DATA:-build/serve}"
export PYTHON="${PYTHON:-python3}" FIRST_PORT="${FIRST_PORT:-860}"
[ "$PROCESSES" -ge 1 ] && [ "$PROCESSES" -le 10 ] || { echo "PROCESSES is 1 to 10" >&2; exit 2; }

# A process takes 1.5 GiB with its workers, and half as much again as its models and runs may; uploads 1 GiB.
limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
if [ "$limit" = max ]; then
  export BLOCKSCOPE_CPU_GIB=2
else
  BLOCKSCOPE_CPU_GIB=$(awk "BEGIN { gib = (($limit / 2^30 - 1) / $PROCESSES - 1.5) / 1.5
    print gib > 2 ? 2 : gib < 0.25 ? 0.25 : gib }")
  export BLOCKSCOPE_CPU_GIB
fi

UPSTREAMS=$(seq -s " " -f "127.0.0.1:${FIRST_PORT}%g" 0 $((PROCESSES - 1)))
secret=$(od -An -N32 -tx1 /dev/urandom | tr -d " \n")
export UPSTREAMS COOKIE_SECRET="$secret" STREAMLIT_SERVER_COOKIE_SECRET="$secret"
export BLOCKSCOPE_HUB="${BLOCKSCOPE_HUB:-0}"  # to readers nothing is offered but what the server says
# glibc gives large tensors back as they are freed: with sixty readers 2 GiB of memory instead of 5
export MALLOC_ARENA_MAX=4 MALLOC_MMAP_THRESHOLD_=1048576
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(( ($(nproc) + PROCESSES - 1) / PROCESSES ))}"

mkdir -p "$DATA"
export BLOCKSCOPE_DATA="$DATA" XDG_DATA_HOME="$DATA" XDG_CONFIG_HOME="$DATA" PYTHONDONTWRITEBYTECODE=1
exec "$PYTHON" -m supervisor.supervisord -c assets/serve/supervisord.conf
