#!/usr/bin/env bash
# Unpacks the parts of an archive that have arrived beside it, and runs the benchmark: see lab/benchmarks/gpu/archive.py.
#
#   mkdir -p /tmp/run; tar -xf vivavoce-gpu-1.tar -C /tmp/run      # and the other parts, now or before a later run
#   /tmp/run/run.sh OUT [ARGUMENTS OF benchmarks.gpu …]
set -euo pipefail

here=$(realpath "$(dirname "$0")")
mkdir -p "$here/tree"
for package in "$here"/packages/tree*.tar.xz; do
    [ -e "$package" ] || continue
    tar -xJf "$package" -C "$here/tree"
    rm "$package"
done
exec "$here/tree/lab/benchmarks/gpu/bare_machine.sh" "$here/packages" "$@"
