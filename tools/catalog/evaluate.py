"""Evaluates the buffer templates of SONiC's device folders.

Reads a JSON list of jobs from standard input, {"dir", "templates", "metadata",
"ports", "dynamic"}, and writes a list of {"tables", "mended"} or {"error"}.
Options of the environment are those of sonic-cfggen
(sonic-buildimage src/sonic-config-engine/sonic-cfggen). A value that only a
device has is an error where it is printed or reckoned with, and reads as
absent where a template asks whether it is there.
"""

import json
import re
import sys

import jinja2


class DeviceOnly(jinja2.Undefined):
    def __str__(self):
        self._fail_with_undefined_error()


def evaluate(job):
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader([job["dir"], job["templates"]]),
        trim_blocks=True,
        undefined=DeviceOnly,
    )
    data = {
        "DEVICE_METADATA": {"localhost": job["metadata"]},
        "PORT": {name: row for name, row in job["ports"]},
    }
    if job["dynamic"]:
        data["dynamic_mode"] = "true"
    text = env.get_template("buffers.json.j2").render(data)
    mended = False
    try:
        tables = json.loads(text)
    except ValueError:
        tables, mended = json.loads(re.sub(r",(\s*[}\]])", r"\1", text)), True
    return mended, {
        t: [[key, list(row.items())] for key, row in tables.get(t, {}).items()]
        for t in (
            "BUFFER_POOL",
            "BUFFER_PROFILE",
            "BUFFER_PG",
            "BUFFER_QUEUE",
            "BUFFER_PORT_INGRESS_PROFILE_LIST",
            "BUFFER_PORT_EGRESS_PROFILE_LIST",
        )
    }


def main():
    out = []
    for job in json.load(sys.stdin):
        try:
            mended, tables = evaluate(job)
            out.append({"tables": tables, "mended": mended})
        except Exception as e:  # a template may fail in any way
            out.append({"error": "%s: %s" % (type(e).__name__, str(e)[:200])})
    json.dump(out, sys.stdout)


main()
