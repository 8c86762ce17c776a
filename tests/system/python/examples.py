# SPDX-License-Identifier: Apache-2.0
"""The package in a venv, built without a network, and the examples there: examples.py NAME BUILD/examples SIMCTL"""
import os
import shutil
import subprocess
import sys
import tempfile

EXAMPLES = "libclient/examples/python/"


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert done.returncode == 0, "%s\n%s" % (command, done.stdout)
    return done.stdout


def venv(folder):
    """A venv with the package, from a copy of its sources: setuptools writes beside them."""
    shutil.copytree("libclient/python", folder + "/source")
    run("/usr/bin/python3", "-m", "venv", "--system-site-packages", folder + "/venv")
    python = folder + "/venv/bin/python"
    run(python, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-cache-dir", folder + "/source")
    where = run(python, "-c", "import simclient; print(simclient.__file__)", cwd=folder)
    assert where.startswith(folder + "/venv/"), where
    return python


def measures(python, *script):
    sensor = subprocess.Popen([python, *script])
    out = run(python, EXAMPLES + "subscriber.py", "my_imu", "3")
    assert out.count("'z': 9.81") == 3, out
    sensor.terminate()
    sensor.wait()


def system(python, simctl):
    with open("libclient/python/README.md") as page:
        measures(python, "-c", page.read().split("```python\n")[1].split("```")[0])
    measures(python, EXAMPLES + "sensor.py")
    lights = subprocess.Popen([python, EXAMPLES + "service.py"], stdin=subprocess.PIPE)
    while subprocess.run([simctl, "service", "info", "headlights"], capture_output=True).returncode:
        pass
    assert "head lights on" in run(simctl, "service", "call", "headlights", '{"data": true}')
    lights.stdin.close()
    assert lights.wait() == 0


def driven(python, simctl):
    assert run(python, EXAMPLES + "driver.py", "3") == "0.010 s\n0.020 s\n0.030 s\n"


del os.environ["PYTHONPATH"]
os.environ["SIMCLIENT_LIBRARY"] = os.path.abspath(os.environ["SIMCLIENT_LIBRARY"])
os.environ["PYTHONUNBUFFERED"] = "1"
with tempfile.TemporaryDirectory() as place:
    globals()[sys.argv[1]](venv(place), sys.argv[3])
