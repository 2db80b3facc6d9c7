"""The documentation: docstrings are whole, pages name what there is, links lead on."""

import ast
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path
from types import FunctionType

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import sklearn_attnstump

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

# Modules of the interface; what others define reaches the user through these.
PUBLIC = [
    "sklearn_attnstump",
    *(
        f"sklearn_attnstump.{name}"
        for name in (
            "baselines",
            "classifier",
            "datasets",
            "displays",
            "heads",
            "metrics",
            "theory",
        )
        if importlib.util.find_spec(f"sklearn_attnstump.{name}")
    ),
]

# numpydoc's checks that say something of use to a reader. Left out are those of layout
# alone, those of words ("Returns" entries may speak for themselves by type and shape),
# and PR04: several parameters may be described at once as those of another object.
CHECKS = {
    "GL02",  # closing quotes
    "GL05",  # tabs
    "GL06",  # an unknown section
    "GL07",  # order of sections
    "GL08",  # no docstring
    "SS01",  # no summary
    "SS04",  # summary with leading spaces
    "SS06",  # summary over one line
    "PR01",  # parameters not documented
    "PR02",  # unknown parameters
    "PR03",  # order of parameters
    "PR05",  # type ends with a full stop
    "PR06",  # a type's name misspelt
    "PR10",  # space before the colon
    "RT01",  # no Returns
    "YD01",  # no Yields
    "SA02",  # See Also ends without a full stop
    "EX01",  # no example
    "SA01",  # no See Also
}
# What the example and the See Also of the class speak for.
SPOKEN_FOR = {"fit", "plot", "name", "decision_function"}
SPOKEN_FOR |= {"predict", "predict_proba", "predict_log_proba"}
# Names that scikit-learn's users know, without an array's shape.
SHAPED = re.compile(r"\b(ndarray|array-like|array)\b")


def public_objects():
    """Dotted names of all public classes and functions, without repetition."""
    found = {}
    for module in PUBLIC:
        loaded = importlib.import_module(module)
        for name in loaded.__all__:
            thing = getattr(loaded, name)
            if callable(thing):
                found.setdefault(thing, f"{module}.{name}")
    return found


def own_methods(cls):
    """Public methods and properties of a class that it defines or inherits from here.

    An override of a documented method of this package may leave the words to it.
    """
    seen = set()
    for base in reversed(cls.__mro__):
        if not base.__module__.startswith("sklearn_attnstump"):
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            if isinstance(value, (FunctionType, classmethod, property)):
                seen.add(name)
                yield f"{base.__module__}.{base.__qualname__}.{name}"


OBJECTS = public_objects()
CLASSES = {name: thing for thing, name in OBJECTS.items() if inspect.isclass(thing)}
FUNCTIONS = [name for thing, name in OBJECTS.items() if not inspect.isclass(thing)]
METHODS = sorted({name for cls in CLASSES.values() for name in own_methods(cls)})
HEADS = ("head.", "softmax.", "gibbs.")


def load(dotted):
    module, _, rest = dotted.partition(".")
    thing = importlib.import_module(module)
    for part in rest.split("."):
        if not hasattr(thing, part):
            thing = importlib.import_module(f"{thing.__name__}.{part}")
        else:
            thing = getattr(thing, part)
    return thing


def faults(dotted, checks):
    return [error for error in validate(dotted)["errors"] if error[0] in checks]


@pytest.mark.parametrize("name", [*CLASSES, *FUNCTIONS])
def test_classes_and_functions_are_documented_in_full(name):
    assert faults(name, CHECKS) == []


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_documented(name):
    checks = CHECKS
    short = name.rpartition(".")[2]
    lone = short in SPOKEN_FOR or isinstance(load(name), property)
    # Methods of heads are for those who write one: the guide has the example.
    if lone or name.removeprefix("sklearn_attnstump.").startswith(HEADS):
        checks = checks - {"EX01", "SA01"}
    if short == "align":  # it has no sibling
        checks = checks - {"SA01"}
    assert faults(name, checks) == []


@pytest.mark.parametrize("name", [*CLASSES, *FUNCTIONS, *METHODS])
def test_arrays_have_shapes(name):
    doc = NumpyDocString(inspect.getdoc(load(name)) or "")
    for section in ("Parameters", "Returns", "Attributes"):
        for entry in doc[section]:
            if SHAPED.search(entry.type) and not theory_of_any_shape(name):
                assert "shape" in entry.type or "shape" in "".join(entry.desc), entry


def theory_of_any_shape(name):
    """Closed forms broadcast: their arguments may have any shape."""
    return name.startswith("sklearn_attnstump.theory.")


@pytest.mark.parametrize("name", [*CLASSES, *FUNCTIONS, *METHODS])
def test_what_a_function_raises_is_said(name):
    """Where the code itself raises, and where it reads the user's contexts."""
    thing = load(name)
    if inspect.isclass(thing) or isinstance(thing, property):
        return
    source = inspect.getsource(thing)
    if re.search(r"^\s+raise \w|_read_fresh\(|_read_corpus\(|_check\(", source, re.M):
        assert NumpyDocString(inspect.getdoc(thing))["Raises"]


def test_every_public_object_is_in_the_reference():
    listed, module = set(), None
    for line in (DOCS / "api.rst").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = match[1]
        elif match := re.match(r"   (\w+)$", line):
            listed.add(load(f"{module}.{match[1]}"))
    assert set(OBJECTS) <= listed


def test_every_public_module_is_known_here():
    """A module with `__all__` is public, unless it hands its names on to another."""
    inner = {"contexts", "estimators", "solvers"}
    for module in pkgutil.iter_modules(sklearn_attnstump.__path__):
        loaded = importlib.import_module(f"sklearn_attnstump.{module.name}")
        if hasattr(loaded, "__all__") and module.name not in inner:
            assert loaded.__name__ in PUBLIC


def pages():
    """Pages written by hand, and those that scripts wrote."""
    return sorted([*DOCS.glob("*.md"), *DOCS.glob("guide/*.md"), DOCS / "api.rst"])


def test_every_page_is_in_a_contents_list():
    entries = {"index"}
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.S):
            folder = page.parent.relative_to(DOCS)
            lines = [line.strip() for line in block.splitlines()]
            names = [line for line in lines if line and not line.startswith(":")]
            entries |= {(folder / name).as_posix() for name in names}
    there = {page.relative_to(DOCS).with_suffix("").as_posix() for page in pages()}
    assert there <= entries


@pytest.mark.parametrize(
    "page",
    [*pages(), *ROOT.glob("*.md")],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_relative_links_lead_to_files(page):
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:|#", target):
            continue
        assert (page.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize(
    "page", sorted(DOCS.glob("guide/*.md")), ids=lambda page: page.stem
)
def test_guide_pages_run_from_their_first_line(page):
    """Prompts are what doctest runs: a block of Python without them would not be."""
    for block in re.findall(
        r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M
    ):
        assert block.startswith(">>> ")
        assert block.endswith("\n\n")  # the last output ends at an empty line


def test_every_example_is_for_the_gallery():
    scripts = list((ROOT / "examples").glob("*.py"))
    assert scripts
    for script in scripts:
        assert script.name.startswith("plot_")
        text = script.read_text(encoding="utf-8")
        assert re.match(r'""".*?\n=+\n.*?"""', text, re.S)
        assert "plt." in text or ".plot(" in text


def test_readme_is_short():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 120


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("plot_*.py")))
def test_a_figure_is_drawn_in_the_cell_that_makes_it(path):
    """The gallery takes a picture after each cell, and closes the figure."""
    made = set()
    for cell in path.read_text().split("# %%"):
        names = {n.id for n in ast.walk(ast.parse(cell)) if isinstance(n, ast.Name)}
        assert not names & made
        for node in ast.walk(ast.parse(cell)):
            if isinstance(node, ast.Assign) and "plt.subplots" in ast.unparse(node):
                targets = ast.walk(ast.Tuple(node.targets))
                made |= {n.id for n in targets if isinstance(n, ast.Name)} - {"_"}
