# Shared by the scripts of this folder: sourced, never run. Leaves the caller in the checkout's root.
set -euo pipefail
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
usage() { sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; }

jobs=$(nproc)
# The system's Python: what the Debian packages and the tests agree on. PYTHON overrides it.
python=${PYTHON:-/usr/bin/python3}

# quietly LOG COMMAND…: shows the command's output only when it fails.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    fail "failed: $*" "the whole output is in $log"
  fi
}

# venv FOLDER REQUIREMENTS: a virtual environment that holds exactly these requirements' versions,
# made again only when the file or the Python changed.
venv() {
  local folder=$1 requirements=$2 stamp
  stamp=$({ "$python" --version; cat "$requirements"; } | sha256sum | cut -d' ' -f1)
  [ "$(cat "$folder/.stamp" 2>/dev/null)" != "$stamp" ] || return 0
  step "Python packages of $requirements into $folder"
  rm -f "$folder/.stamp"
  [ -x "$folder/bin/python" ] || "$python" -m venv "$folder"
  quietly build/logs/pip.log "$folder/bin/python" -m pip install --disable-pip-version-check \
    --progress-bar off -r "$requirements"
  echo "$stamp" >"$folder/.stamp"
}
