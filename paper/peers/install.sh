#!/usr/bin/env bash
# install.sh NAME: makes the virtual environment $EBBING_EXTRA/NAME of a peer (neural-tangents, pytorch or scipy).
# Ends with exit code 77 where that cannot be, and its last line says why.
set -uo pipefail
name=$1
venv=$EBBING_EXTRA/$name
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv" || { echo "python3 cannot make a virtual environment here"; exit 77; }
fi
install() { "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"; }
there() { "$venv/bin/python" -c "import importlib.util as u, sys; sys.exit(any(u.find_spec(n) is None for n in sys.argv[1:]))" "$@"; }
case $name in
  neural-tangents)
    # neural-tangents 0.6.5 uses a part of jax that 0.4.36 removed; its dependency tf2jax (with TensorFlow) serves only an
    # experimental module that comparisons leave out.
    there neural_tangents jax scipy ||
      { install 'jax[cpu]<0.4.36' 'numpy<2.1' scipy frozendict typing_extensions && install --no-deps neural-tangents==0.6.5; }
    ;;
  pytorch) there torch numpy || install 'torch>=2,<3' numpy ;;
  scipy) there scipy numpy || install scipy numpy ;;
  *) echo "install.sh knows neural-tangents, pytorch and scipy, not '$name'"; exit 2 ;;
esac || { echo "$name could not be installed for $(python3 --version)"; exit 77; }
