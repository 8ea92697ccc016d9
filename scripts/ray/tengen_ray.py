#!/usr/bin/env python3
"""Runs Tengen on a Ray cluster: one trainer, one gate, and any number of self-play workers on one store. Ray chooses
the nodes, hands out GPUs or shares of them, and starts a process again whose node is gone. Resumes if run again.

    python scripts/ray/tengen_ray.py CONFIG STORE --workers 8 --threads 4
    python scripts/ray/tengen_ray.py CONFIG s3://go/nine --workers 8 --worker-gpus 0.25 --trainer-gpus 1

CONFIG, the binary, and a STORE that is a folder must be on a file system that every node shares. Credentials of a store
in the cloud come from the environment in which each node ran `ray start`. RAY_ADDRESS names a cluster other than that
of this node.
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


def main():
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
    options = parser.parse_args()
    tengen = shutil.which(os.environ.get("TENGEN", "tengen"))
    if tengen is None:
        sys.exit("tengen_ray: tengen not found; set TENGEN to the path of the binary, the same on every node")
    if not os.access(config := os.path.abspath(options.config), os.R_OK):
        sys.exit(f"tengen_ray: cannot read the configuration {config}")
    store = options.store if "://" in options.store else os.path.abspath(options.store)
    stage = ["--store", store, "--config", config, *(f"--set={value}" for value in options.set)]

    def submit(name, part, cpus, gpus, *more):
        command = [os.path.abspath(tengen), part, "--follow", *stage, *more, *(["--device", "cuda"] if gpus else [])]
        running[launch.options(name=f"tengen {name}", num_cpus=cpus, num_gpus=gpus).remote(command)] = name

    ray.init(address="auto", log_to_driver=False, logging_level="warning")
    for number in (signal.SIGINT, signal.SIGTERM):  # a script that starts this with `&` has SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    running = {}
    submit("trainer", "train", options.trainer_cpus, options.trainer_gpus)
    submit("gate", "gate", options.gate_cpus, options.gate_gpus)
    for number in range(options.workers):
        play = ("selfplay", options.threads, options.worker_gpus, "--threads", str(options.threads))
        submit(f"worker {number + 1}", *play)
    print(f"submitted the trainer, the gate, and {options.workers} workers for {store}", flush=True)
    try:
        codes = {0}
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
