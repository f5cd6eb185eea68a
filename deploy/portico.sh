#!/bin/sh
# `portico` in the image. The space for new objects may grow to 32 MB if the container may take 1 GiB, otherwise to 8 MB:
# docs/deploying.md, "Many calls at once". Node takes the size at its start only, and the other flag from no variable.
total=$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
limit=$(cat /sys/fs/cgroup/memory.max 2> /dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2> /dev/null || echo max)
if [ "$limit" != max ] && [ "$((limit / 1024))" -lt "${total:-0}" ]; then total=$((limit / 1024)); fi
if [ "${total:-0}" -ge 1048576 ]; then young=32; else young=8; fi
exec node --max-semi-space-size=$young --initial-old-space-size=64 /usr/local/lib/node_modules/portico/dist/portico.js "$@"
