"""What other tools say of wheels, beside the declaration that `gilcheck audit` reads out of them.

    python benchmarks/audit_rivals.py FOLDER WHEEL...

FOLDER has the commands `ft-readiness` and `abi3audit`. `ft-readiness` wants a project: each wheel gets one, with the wheel's own
name, version, `requires-python` and classifiers.
"""

import argparse
import json
import subprocess
import tempfile
from collections import Counter
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

from pytest_gilcheck.audit import modules
from pytest_gilcheck.audit.artifact import open_path


def project_of(wheel, folder):
    """Write the project whose release this wheel is."""
    with ZipFile(wheel) as archive:
        [name] = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA") and each.count("/") == 1]
        metadata = Parser().parsestr(archive.read(name).decode())
    table = {
        "name": metadata["Name"],
        "version": metadata["Version"],
        "requires-python": metadata["Requires-Python"] or ">=3",
        "classifiers": metadata.get_all("Classifier", []),
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    (folder / "pyproject.toml").write_text("\n".join(["[project]", *lines, ""]))
    (folder / "dist").mkdir()
    (folder / "dist" / wheel.name).symlink_to(wheel.resolve())


def ft_readiness(command, wheel):
    """The codes that it reports; empty if it has nothing to say."""
    with tempfile.TemporaryDirectory() as folder:
        project_of(wheel, Path(folder))
        done = subprocess.run([command, "--format", "json", folder], capture_output=True, text=True)
        try:
            findings = json.loads(done.stdout)["findings"]
        except ValueError:
            return [f"exit status {done.returncode}"]
    return sorted({f"{each['code']} {each['level']}" for each in findings})


def abi3audit(command, wheel):
    """`nothing auditable`, `0 violations`, …: it knows wheels for the stable ABI only."""
    done = subprocess.run([command, "--report", wheel], capture_output=True, text=True)
    try:
        results = [each["result"] for each in json.loads(done.stdout)["specs"][str(wheel)]["wheel"]]
    except (ValueError, KeyError):
        return "nothing auditable"
    if not results:
        return "nothing auditable"
    broken = sum(len(each.get("non_abi3_symbols", [])) for each in results)
    return f"{broken} symbols outside of abi3"


def declared(wheel):
    """`uses the GIL` if one module does, `needs no GIL`, `cannot be told`, or that no module is for free-threaded builds."""
    artifact = open_path(wheel)
    known = modules.read(artifact).declared
    said = {str(known[one.file].gil) for one in artifact.extension_modules() if one.file in known}
    if not said:
        return "no free-threaded module"
    return "uses the GIL" if "used" in said else "cannot be told" if "cannot be told" in said else "needs no GIL"


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("wheels", nargs="+", type=Path)
    given = parser.parse_args()
    table = Counter()
    for wheel in given.wheels:
        ours = declared(wheel)
        ready = ft_readiness(given.folder / "ft-readiness", wheel)
        symbols = abi3audit(given.folder / "abi3audit", wheel)
        table[ours, ", ".join(ready) or "no finding", symbols] += 1
        print(
            f"{wheel.name[:70]:70} {ours:24} ft-readiness: {', '.join(ready) or 'no finding':30}",
            f"abi3audit: {symbols}",
            flush=True,
        )
    for (ours, ready, symbols), count in table.most_common():
        print(f"{count:4} {ours:24} ft-readiness: {ready:30} abi3audit: {symbols}")


if __name__ == "__main__":
    main()
