#!/usr/bin/env python3
"""Runs Tengen on a Ray cluster: one trainer, one gate, and any number of self-play workers on one store. Ray chooses
the nodes, hands out GPUs or shares of them, and starts a process again whose node is gone. Resumes if run again.

    python scripts/ray/tengen_ray.py CONFIG STORE --workers 8 --threads 4
    python scripts/ray/tengen_ray.py CONFIG s3://go/nine --workers 8 --worker-gpus 0.25 --trainer-gpus 1

CONFIG, the binary, and a STORE that is a folder must be on a file system that every node shares. Credentials of a store
in the cloud come from the environment in which each node ran `ray start`.
"""
import argparse
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time

import ray


class Died(Exception):
    """A process was killed by a signal, for example because memory was short. Ray tries again."""


@ray.remote(max_retries=-1, retry_exceptions=[Died])
def launch(command):
    """Runs one process to its end. A canceled task, or one whose Ray worker is gone, passes SIGTERM on to it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # for ray.cancel; ignored if Ray was started with `&`
    # PR_SET_PDEATHSIG (1): the process gets SIGTERM when this one dies.
    process = subprocess.Popen(command, preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGTERM))
    try:
        while (code := process.poll()) is None:
            time.sleep(0.2)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if code < 0:
        raise Died(f"{' '.join(command[:2])} was killed by signal {-code}")
    return code


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("store")
    parser.add_argument("--workers", type=int, required=True, help="self-play workers")
    parser.add_argument("--threads", type=int, default=1, help="threads, and so CPUs, of each worker (default: 1)")
    for part in ("trainer", "gate"):
        parser.add_argument(f"--{part}-cpus", type=float, default=1, help=f"CPUs of the {part} (default: 1)")
    for part in ("worker", "trainer", "gate"):
        parser.add_argument(f"--{part}-gpus", type=float, default=0, help=f"GPUs of the {part}, such as 0.25")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a value of CONFIG")
    parser.add_argument("--address", default="auto", help="the cluster (default: the one of this node)")
    return parser.parse_args()


def main():
    options = arguments()
    tengen = shutil.which(os.environ.get("TENGEN", "tengen"))
    if tengen is None:
        sys.exit("tengen_ray: tengen not found; set TENGEN to the path of the binary, the same on every node")
    if not os.access(options.config, os.R_OK):
        sys.exit(f"tengen_ray: cannot read the configuration {options.config}")
    store = options.store if "://" in options.store else os.path.abspath(options.store)
    stage = ["--store", store, "--config", os.path.abspath(options.config), "--follow"]
    stage += [word for value in options.set for word in ("--set", value)]

    def submit(part, cpus, gpus, *more):
        command = [os.path.abspath(tengen), part, *stage, *more, *(["--device", "cuda"] if gpus else [])]
        return launch.options(name=f"tengen {part}", num_cpus=cpus, num_gpus=gpus).remote(command)

    ray.init(address=options.address, log_to_driver=False, logging_level="warning")
    # SIGINT as well, because it is ignored if a shell script starts this program in the background.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    threads = ("--threads", str(options.threads))
    running = {submit("train", options.trainer_cpus, options.trainer_gpus): "trainer"}
    running[submit("gate", options.gate_cpus, options.gate_gpus)] = "gate"
    for number in range(1, options.workers + 1):
        running[submit("selfplay", options.threads, options.worker_gpus, *threads)] = f"worker {number}"
    print(f"submitted the trainer, the gate, and {options.workers} workers for {store}", flush=True)
    try:
        codes = set()
        while running:
            [done], _ = ray.wait(list(running), num_returns=1)
            part, code = running.pop(done), ray.get(done)
            print(f"{part} ended with exit code {code}", flush=True)
            codes.add(code)
            if code != 0 and part in ("trainer", "gate"):
                raise KeyboardInterrupt  # nothing moves without them
        return max(codes)
    except KeyboardInterrupt:
        print("stopping; the same command resumes", flush=True)
        for task in running:
            ray.cancel(task)
        ray.wait(list(running), num_returns=len(running), timeout=60)
        return 1


if __name__ == "__main__":
    sys.exit(main())
