"""Writes the files of deploy/kubernetes/kustomize from the chart in deploy/kubernetes/chart, by Helm's own code.

    pip install helm-python-sdk==0.2.2
    python scripts/kustomize.py

With --check it writes nothing, and fails where a file differs. With --render it prints the chart with the values that it
reads as JSON from its input.
"""

import hashlib
import json
import os
import re
import sys

import helm_python as helm

FOLDER = "deploy/kubernetes"
CHART = f"{FOLDER}/chart"
NAMESPACE = "portico"
HEADER = """# Written by scripts/kustomize.py from the chart. Change the chart, or patch this in an overlay of your own.
# SHA-256 of the chart's files: {}
"""
# The values of each file that differ from the chart's, and which of the chart's templates are in it: all but monitoring's,
# which are components because not each cluster has the Prometheus operator or Grafana.
FILES = {
    "kustomize/base/portico.yaml": ({}, None),
    "kustomize/tls/portico.yaml": ({"tls": {"enabled": True}}, None),
    "kustomize/pod-monitor/pod-monitor.yaml": ({"monitoring": {"podMonitor": True}}, "pod-monitor"),
    "kustomize/prometheus-rule/prometheus-rule.yaml": ({"monitoring": {"prometheusRule": True}}, "prometheus-rule"),
    "kustomize/dashboard/dashboard.yaml": ({"monitoring": {"dashboard": True}}, "dashboard"),
}


def render(values: dict, only: str | None = None) -> str:
    """The manifests of the chart, in the order of its templates' names. Fails if Helm finds anything to complain about."""
    report = helm.lint(CHART, values, strict=True, namespace=NAMESPACE)
    faults = [one["error"] for one in report["messages"] if one["severity"] > 1]
    if faults or report["errors"]:
        sys.exit(f"helm lint: {faults} {report['errors']}")
    with helm.Chart.load(CHART) as chart:
        chart.validate_schema(values)
        rendered = chart.render(values, name="portico", namespace=NAMESPACE)
    texts = [
        text.strip()
        for path, text in sorted(rendered.items())
        if path.endswith(".yaml") and (only is None or path.endswith(f"/{only}.yaml"))
    ]
    text = "\n---\n".join(one for one in texts if one)
    # Actions of templates leave empty lines and spaces, and services begin with a separator.
    text = re.sub(r"[ \t]+$", "", text, flags=re.M)
    text = re.sub(r"\n{2,}", "\n", text)
    return re.sub(r"---\n((?:#.*\n)+)---\n", r"---\n\1", text) + "\n"


def digest() -> str:
    """Of the names and the contents of the chart's files: a test without Helm sees by it whether the chart was changed since."""
    paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(CHART) for name in names)
    total = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            total.update(f"{os.path.relpath(path, CHART)}\n".encode() + file.read())
    return total.hexdigest()


def main() -> None:
    if "--render" in sys.argv:
        print(render(json.load(sys.stdin)), end="")
        return
    for name, (values, only) in FILES.items():
        path = os.path.join(FOLDER, name)
        text = HEADER.format(digest()) + render(values, only)
        if "--check" not in sys.argv:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        elif not os.path.exists(path) or open(path).read() != text:
            sys.exit(f"{path} is not what scripts/kustomize.py makes of the chart: run it, and commit what it writes")


main()
