"""Runs the script of a job as a cluster would, on the worker that the test says: python submit.py WORKERS JOBSCRIPT.

WORKERS is a JSON file: from a mechanism's path name to `PYTHONPATH` and `python` of the worker that its jobs meet.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

workers, jobscript = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
text = jobscript.read_text()
properties = json.loads(re.search(r"^# properties = (.*)$", text, re.MULTILINE)[1])
worker = workers.get(properties["wildcards"].get("mechanism"), {})
if "python" in worker:
    text = text.replace(sys.executable, worker["python"])
environment = {**os.environ, **({"PYTHONPATH": worker["PYTHONPATH"]} if "PYTHONPATH" in worker else {})}
jobscript.write_text(text)
# Its words come to the terminal of the test, as a cluster's come to a file.
subprocess.run(["bash", str(jobscript)], env=environment, stdout=sys.stderr, check=False)
print(properties["jobid"])
