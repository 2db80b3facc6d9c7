"""The package as a whole: what it ships, what it states, and which way imports go."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import sklearn_attnstump

PACKAGE = "sklearn_attnstump"
ROOT = Path(__file__).parents[1]

# A module imports only from its left.
LINE = [
    "labels",
    "forms",
    "frames",
    "contexts",
    "scaling",
    "coordinates",
    "moments",
    "attended",
    "gaps",
    "priors",
    "head",
    "softmax",
    "gibbs",
    "heads",
    "objective",
    "solvers",
    "base",
    "workers",
    "conformal",
    "diagnostics",
    "inference",
    "packs",
    "metrics",
    "summaries",
    "uncertainty",
    "persistence",
    "estimators",
    "splits",
    "candidates",
    "classifier",
]
# Which modules of the package each may import. A new module is placed here on purpose;
# modules that are still to come may stand here already.
MAY_IMPORT = {
    **{room: set(LINE[:position]) for position, room in enumerate(LINE)},
    # Stricter than the line: what these need not know.
    "coordinates": set(),
    "moments": {"contexts"},
    "attended": {"contexts", "moments"},
    "gaps": {"contexts", "moments"},
    "priors": set(),
    "solvers": {"coordinates", "objective"},
    "base": {"contexts", "forms", "scaling"},
    "workers": set(),
    "conformal": set(),
    "persistence": {"base", "heads", "priors", "scaling"},
    "diagnostics": {"contexts", "gaps"},
    "splits": set(),
    # Beside the line.
    "baselines": {"contexts", "scaling", "gaps", "priors", "gibbs", "base"},
    "datasets": {"contexts"},
    "metrics": {"contexts"},
    "population": set(),
    "theory": {"population"},
    "displays": {"contexts", "theory"},
}
# The certified scale is a definition, not an oracle: the estimator takes it from there.
MAY_IMPORT["estimators"] |= {"theory"}


def imported_rooms(source, module, *, is_package=False):
    """Top-level modules of the package that a module's source names in its imports."""
    here = module if is_package else module.rpartition(".")[0]
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            origin = importlib.util.resolve_name(relative, here)
            if origin == PACKAGE:
                names += [f"{PACKAGE}.{alias.name}" for alias in node.names]
            else:
                names.append(origin)
    inside = [name.split(".") for name in names if name.split(".")[0] == PACKAGE]
    return {parts[1] if len(parts) > 1 else PACKAGE for parts in inside} - {
        "__version__"
    }


def wrong_imports(source, module, *, is_package=False):
    """Imports that the layout does not allow to a module."""
    room = module.split(".")[1]
    assert room in MAY_IMPORT, f"place {room!r} in the layout of {Path(__file__).name}"
    imported = imported_rooms(source, module, is_package=is_package)
    return imported - MAY_IMPORT[room] - {room}


def modules():
    """Every module below the package's own `__init__`, as (name, path)."""
    paths = sorted((ROOT / PACKAGE).rglob("*.py"))
    parts = [path.relative_to(ROOT).with_suffix("").parts for path in paths]
    names = [".".join(part).removesuffix(".__init__") for part in parts]
    return [
        (name, path) for name, path in zip(names, paths, strict=True) if name != PACKAGE
    ]


@pytest.mark.parametrize(("module", "path"), modules())
def test_imports_go_one_way(module, path):
    wrong = wrong_imports(
        path.read_text(encoding="utf-8"), module, is_package=path.stem == "__init__"
    )
    assert not wrong, f"{module} must not import {sorted(wrong)}"


@pytest.mark.parametrize(
    ("module", "source", "wrong"),
    [
        ("heads", "from sklearn_attnstump.scaling import f", set()),
        ("heads", "from .contexts import Contexts", set()),
        ("heads", "import numpy as np\nfrom sklearn.base import clone", set()),
        ("heads", "from sklearn_attnstump import __version__", set()),
        ("heads", "from sklearn_attnstump.solvers import newton", {"solvers"}),
        ("heads", "def f():\n    from . import estimators", {"estimators"}),
        ("heads", "from sklearn_attnstump import Contexts", {"Contexts"}),
        ("heads", "import sklearn_attnstump", {PACKAGE}),
        ("contexts", "import sklearn_attnstump.heads", {"heads"}),
        ("solvers", "from .heads import SingleHead", {"heads"}),
        ("baselines", "from .objective import loss", {"objective"}),
        ("theory", "from .contexts import Contexts", {"contexts"}),
        ("population", "from .theory import population_loss", {"theory"}),
        ("metrics", "from .theory import bias", {"theory"}),
        ("displays", "from .estimators import E", {"estimators"}),
        ("displays", "from .population import tilted_mean", {"population"}),
        ("heads.gibbs", "from .prior import p\nfrom ..scaling import f", set()),
        ("heads.gibbs", "from ..solvers import gd", {"solvers"}),
        ("datasets.real", "from ..heads.single import f", {"heads"}),
    ],
)
def test_layout_check_sees_wrong_imports(module, source, wrong):
    assert wrong_imports(source, f"{PACKAGE}.{module}") == wrong


def test_layout_check_refuses_an_unplaced_module():
    with pytest.raises(AssertionError, match="place 'helpers' in the layout"):
        wrong_imports("", f"{PACKAGE}.helpers")


def test_version_is_stated_once():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    stated = re.search(r"^version: (\S+)$", citation, flags=re.MULTILINE).group(1)
    assert sklearn_attnstump.__version__ == stated


def test_linters_have_the_versions_of_pre_commit():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extra = project["project"]["optional-dependencies"]["lint"]
    pinned = dict(line.split("==") for line in extra if "==" in line)
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    found = re.findall(r"repo: \S+/(?:mirrors-)?(\w+)\S*\n +rev: v(\S+)", hooks)
    assert dict(found) == pinned


def test_the_oldest_versions_that_are_run_are_the_floors():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, floors = project["project"], {}
    extras = project["optional-dependencies"]
    for line in [*project["dependencies"], *extras["plot"], *extras["test"]]:
        needed = Requirement(line)
        (floor,) = (s.version for s in needed.specifier if s.operator == ">=")
        assert floors.setdefault(needed.name, Version(floor)) == Version(floor)
    text = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^([\w-]+)==(\S+)$", text, re.MULTILINE)
    assert {name: Version(version) for name, version in pins} == floors
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (python,) = re.findall(r'enter "\$work/oldest" (\S+)$', script, re.MULTILINE)
    assert project["requires-python"] == f">={python}"


def test_credits_name_every_data_file():
    text = (ROOT / "CREDITS").read_text(encoding="utf-8")
    files = sorted((ROOT / PACKAGE / "datasets" / "data").glob("*.gz"))
    assert files
    for path in files:
        assert path.relative_to(ROOT).as_posix() in text


PROBE = """
import json
from importlib import metadata, resources

import sklearn_attnstump
from sklearn_attnstump.datasets import load_browser_support

distribution = metadata.distribution("sklearn-attnstump")
print(json.dumps({
    "version": [sklearn_attnstump.__version__, distribution.version],
    "typed": resources.files(sklearn_attnstump).joinpath("py.typed").is_file(),
    "licences": sorted(distribution.metadata.get_all("License-File")),
    "credits": distribution.read_text("licenses/CREDITS"),
    "n_tasks": len(load_browser_support().contexts),
}))
"""


def test_installed_package_is_whole(tmp_path):
    """What pip installed, seen from elsewhere: ``-I`` hides the working copy."""
    try:
        metadata.distribution("sklearn-attnstump")
    except metadata.PackageNotFoundError:
        pytest.skip("looks at the installed package: pip install .")
    run = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", PROBE],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout)
    assert seen["version"] == [sklearn_attnstump.__version__] * 2
    assert seen["typed"]
    assert seen["licences"] == ["CREDITS", "LICENSE"]
    assert seen["credits"] == (ROOT / "CREDITS").read_text(encoding="utf-8")
    assert seen["n_tasks"] == 391
