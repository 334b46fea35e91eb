#!/usr/bin/env bash
# Runs the benchmark on a machine that has Python with PyTorch for CUDA, and nothing of Vivavoce's: no network is needed.
#
#   lab/benchmarks/gpu/bare_machine.sh PACKAGES OUT [ARGUMENTS OF benchmarks.gpu …]
#
# PACKAGES is a folder of wheels, and of archives as benchmarks.gpu.bundle makes them: lab/docs/performance_journal.md says which.
# PYTHON is that machine's interpreter (python3), ENVIRONMENT where ours is made (/tmp/vivavoce-gpu).
set -euo pipefail

packages=$(realpath "$1") out=$(realpath -m "$2")
shift 2
root=$(realpath "$(dirname "$0")/../../..")
python=${PYTHON:-python3}
environment=${ENVIRONMENT:-/tmp/vivavoce-gpu}

# Triton runs its models with this library, not with the interpreter, which may do without it.
library=$("$python" -c 'import sys; print("libpython%d.%d.so.1.0" % sys.version_info[:2])')
folder=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR"))')
if ! LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$python" -c "import ctypes; ctypes.CDLL('$library')" 2> /dev/null; then
    echo "bare_machine.sh: there is no $library here, so Triton runs no model: what needs no server is measured" >&2
    set -- "$@" --without-server
fi

[ -e "$environment/bin/python" ] || "$python" -m venv --without-pip --clear "$environment"
own=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# What lies here comes before what the machine has, as numpy 1.26 before numpy 2: this Triton knows no newer one. More may
# arrive before a later run.
for package in "$packages"/*.whl "$packages"/*.tar.xz; do
    if [ ! -e "$package" ] || [ -e "$environment/unpacked/$(basename "$package")" ]; then continue; fi
    case $package in
        *.whl) "$python" -m zipfile -e "$package" "$own" ;;
        *) tar -xJf "$package" -C "$own" ;;
    esac
    mkdir -p "$environment/unpacked"
    touch "$environment/unpacked/$(basename "$package")"
done
if [ -d "$own/pytriton" ]; then
    chmod +x "$own"/pytriton/tritonserver/bin/tritonserver "$own"/pytriton/tritonserver/python_backend_stubs/*/*
else
    echo "bare_machine.sh: Triton is not in $packages: what needs no server is measured" >&2
    set -- "$@" --without-server
fi
# Triton's Python models ignore PYTHONPATH: they find the project and the machine's own packages through this file.
{ echo "$root"; echo "$root/clients"; echo "$root/lab"; "$python" -c 'import sys; print(*filter(None, sys.path), sep="\n")'; } > "$own/machine.pth"
(cd "$root" && "$environment/bin/python" -m benchmarks.gpu.register "$own")

export MACHINE_PYTHON=$python
cd "$root"
exec "$environment/bin/python" -m benchmarks.gpu --out "$out" "$@"
