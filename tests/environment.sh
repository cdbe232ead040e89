# Sourced by tests/run and tests/rehearse: makes an environment on a fresh Debian or Ubuntu with Python 3.10 or newer.
# PYTHON names another interpreter, VENV another folder.

python=${PYTHON:-python3}
venv=${VENV:-.venv}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# install_missing PACKAGE...: what is missing of the system, by Debian's names
install_missing() {
  [ $# -gt 0 ] || return 0
  echo "installing $*"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}

# environment EXTRAS: the package itself, editable, with the extra requirements named
environment() {
  "$python" -c 'import ensurepip' 2>/dev/null || install_missing python3-venv
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check -e ".$1"
}
