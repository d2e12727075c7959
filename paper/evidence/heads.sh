#!/usr/bin/env bash
# heads.sh VENV --data FOLDER --glosses FILE [--cache FOLDER]: the study of heads on features, from training to the forecasts that are
# compared; analyze.py writes the page. What is stored is not made again, so that it can be stopped and begun again at any time.
set -euo pipefail
python=$1/bin/python
shift
here=$(dirname "$0")
"$python" "$here/pretrained.py" "$@"
"$python" "$here/forms.py" "$@"
"$python" "$here/forms.py" --crossed "$@"
"$python" "$here/chosen.py" "$@"
