# Shared by the scripts of this folder: sourced, never run. Leaves the caller in the checkout's root.
set -euo pipefail
unset CDPATH  # it would change where `cd` goes, and what it prints
script=$(realpath "$0")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# One line per step, with the seconds since the outermost script began.
export HEADRACE_STARTED=${HEADRACE_STARTED:-$(date +%s)}
SECONDS=$(($(date +%s) - HEADRACE_STARTED))
step() { printf '\033[1m[%4ds]\033[0m %s\n' "$SECONDS" "$*"; }

# fail WHAT [WHAT TO DO]
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  [ $# -lt 2 ] || printf '  %s\n' "$2" >&2
  exit 1
}

# The comment at the head of the calling script, for --help.
usage() { sed -n '2,/^$/s/^# \{0,1\}//p' "$script"; }

jobs=$(nproc)
# ccache, and with it each compilation, fails where it cannot write.
[ -w "${HOME:-/}" ] || export CCACHE_DIR="${CCACHE_DIR:-$root/build/ccache}"
# The system's Python: what the Debian packages and the tests agree on. PYTHON overrides it: to be
# given to each script, or the next one goes back.
python=${PYTHON:-/usr/bin/python3}

# quietly LOG COMMAND…: shows the command's output only when it fails.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    fail "failed: $*" "the whole output is in $root/$log"
  fi
}

# venv FOLDER REQUIREMENTS: a virtual environment of $python that holds these requirements' versions.
# It is made anew when its Python has not the wanted version or has no pip: a Debian upgrade turns its
# `python` into a newer one, without packages. When only the file changed, pip installs what differs.
venv() {
  local folder=$1 requirements=$2 version stamp
  version=$("$python" --version)
  stamp=$({ echo "$version"; cat "$requirements"; } | sha256sum | cut -d' ' -f1)
  if [ "$("$folder/bin/python" --version 2>/dev/null)" != "$version" ] ||
    ! "$folder/bin/python" -c 'import pip' 2>/dev/null; then
    step "$version into $folder"
    rm -f "$folder/.stamp"
    "$python" -m venv --clear "$folder"
  fi
  [ "$(cat "$folder/.stamp" 2>/dev/null)" != "$stamp" ] || return 0
  step "Python packages of $requirements into $folder"
  rm -f "$folder/.stamp"
  quietly build/logs/pip.log "$folder/bin/python" -m pip install --disable-pip-version-check \
    --progress-bar off -r "$requirements"
  echo "$stamp" >"$folder/.stamp"
}

# drop_outdated PRESET: removes a build tree that is older than .venv. What CMake found then belongs to
# another Python and, after a Debian upgrade, to another compiler and other libraries.
drop_outdated() {
  [ "build/$1/CMakeCache.txt" -nt .venv/pyvenv.cfg ] || rm -rf "build/$1"
}
