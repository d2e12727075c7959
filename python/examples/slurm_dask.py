"""A forecast of large tasks on Slurm: dask-jobqueue submits the workers, ebbing.dask computes on them.

python slurm_dask.py FOLDER [JOBS], where FOLDER, on a file system that all nodes see, holds task-1-x-0.npy, task-1-y-0.npy, …
(the rows of each task in any number of files). Where there is no Slurm it shows the script that would be submitted.
"""

import shutil
import sys
from pathlib import Path

from dask_jobqueue import SLURMCluster

import ebbing.dask

#: One worker process per job, with all of its cores; ask for what one of your nodes has.
SETTINGS = {
    "queue": "compute",
    "cores": 8,
    "processes": 1,
    "memory": "32GB",
    "walltime": "02:00:00",
    # The environment in which ebbing is installed, of the same version as here.
    "job_script_prologue": ["source $HOME/ebbing/bin/activate"],
    "python": "python",
}


def cluster(**options):
    """The cluster, without jobs yet."""
    return SLURMCluster(**{**SETTINGS, **options})


def tasks_in(folder):
    """(files of X, files of y) of each task."""
    count = len({path.name.split("-")[1] for path in folder.glob("task-*-x-*.npy")})
    files = lambda t, part: sorted(folder.glob(f"task-{t}-{part}-*.npy"), key=lambda path: int(path.stem.rsplit("-", 1)[1]))
    return [(files(t, "x"), files(t, "y")) for t in range(1, count + 1)]


def main(folder=".", jobs="4"):
    if shutil.which("sbatch") is None:
        with cluster(scheduler_options={"host": "127.0.0.1"}) as made:
            print("There is no Slurm here. Each job would be submitted as")
            print(made.job_script())
        return
    with cluster() as made, made.get_client() as client:
        made.scale(jobs=int(jobs))
        client.wait_for_workers(int(jobs))
        print(ebbing.dask.forecast(tasks_in(Path(folder).resolve()), client=client, depth=3, progress=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
    #> #SBATCH -p compute
    #> #SBATCH --cpus-per-task=8
