"""A claim in a project's files: found wherever the build backend takes it from, or said to be untold; never passed over."""

import pytest

from pytest_gilcheck.audit import claims
from pytest_gilcheck.audit.artifact import open_path
from pytest_gilcheck.audit.settings import AuditSettings

from .made import BETA, STABLE, codes, sdist, wheel

CFG = f"[metadata]\nname = demo\nversion = 1.0\nclassifiers =\n    Topic :: Utilities\n    {BETA}\n"
PY = "from setuptools import setup\nsetup(name='demo', version='1.0', {})\n"
DYNAMIC = '[project]\nname = "demo"\nversion = "1.0"\ndynamic = ["classifiers"]\n'
POETRY = f'[tool.poetry]\nname = "demo"\nversion = "1.0"\nclassifiers = ["{BETA}"]\n'
BACKEND = '[build-system]\nrequires = []\nbuild-backend = "{}"\n'
POETRY_BACKEND = BACKEND.format("poetry.core.masonry.api")
STATIC = '[project]\nname = "demo"\nversion = "1.0"\n'


def project(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return open_path(folder)


def judged(*artifacts, settings=None, previous=()):
    (release,) = claims.releases(artifacts)
    claim = claims.claim_of(release, settings or AuditSettings())
    before = claims.releases(previous)
    return claim, list(claims.check(release, claim, before[0] if before else None))


@pytest.mark.parametrize(
    "files",
    [
        {"setup_cfg": CFG},
        {"setup_cfg": f"[metadata]\nname: demo\nclassifier: Topic :: Utilities, {BETA}\n"},
        {"setup_py": PY.format(f"classifiers=['{BETA}']")},
        {"setup_py": f"import setuptools\nC = ['Topic :: Utilities'] + ['{BETA}']\nsetuptools.setup(name='demo', classifiers=C)\n"},
        {"setup_py": f"from setuptools import setup\nmeta = dict(name='demo', classifiers=('{BETA}',))\nsetup(**meta)\n"},
        {"setup_py": f"from setuptools import setup\nif True:\n    setup(**{{'name': 'demo', 'classifiers': ['{BETA}']}})\n"},
        {"setup_py": "from setuptools import setup\nsetup()\n", "setup_cfg": CFG},
        {"pyproject_toml": POETRY},
        {"pyproject_toml": DYNAMIC + POETRY + POETRY_BACKEND},
        {"pyproject_toml": DYNAMIC, "setup_cfg": CFG},
        {"pyproject_toml": DYNAMIC, "setup_py": PY.format(f"classifiers=['{BETA}']")},
        {"pyproject_toml": STATIC, "setup_cfg": CFG},
        {"pyproject_toml": "[tool.other]\n", "setup_cfg": CFG},
        {"pyproject_toml": f'{STATIC}classifiers = ["{BETA}"]\n', "setup_py": "!"},
    ],
)  # fmt: skip
def test_a_claim_is_found_wherever_the_build_takes_it_from(tmp_path, files):
    claim, findings = judged(project(tmp_path / "demo", **files))
    assert (claim.level, claim.untold) == (2, "")
    assert codes(findings) == []


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"pyproject_toml": DYNAMIC}, "pyproject.toml: [project] has classifiers in dynamic: a build decides"),
        (
            {"pyproject_toml": DYNAMIC + BACKEND.format("hatchling.build"), "setup_cfg": CFG},
            "backend hatchling.build decides",
        ),
        ({"pyproject_toml": BACKEND.format("flit_core.buildapi")}, "no [project] table"),
        ({"pyproject_toml": BACKEND.format("own") + 'backend-path = ["."]\n', "setup_cfg": CFG}, "own of the project itself"),
        ({"setup_cfg": "[metadata]\nclassifiers = file: classifiers.txt\n"}, "setup.cfg: classifiers = file: classifiers.txt"),
        ({"setup_py": PY.format("classifiers=open('c').read().split()")}, "setup.py: classifiers"),
        ({"setup_py": PY.format(f"classifiers=['{BETA}', *MORE]")}, "setup.py: classifiers"),
        ({"setup_py": PY.format("**arguments()")}, "setup.py: setup() is called with **"),
        ({"setup_py": "C = []\nC.append(level())\n" + PY.format("classifiers=C")}, "what C is"),
        ({"setup_py": "C = []\nfor C in levels(): pass\n" + PY.format("classifiers=C")}, "what C is"),
        ({"setup_py": "C = []\nfrom common import *\n" + PY.format("classifiers=C")}, "what C is"),
        ({"setup_py": "C = []\nif new:\n    from common import C\n" + PY.format("classifiers=C")}, "what C is"),
        ({"setup_py": "C = D = []\n" + PY.format("classifiers=C") + "D.append(1)\n"}, "what C is"),
        ({"setup_py": PY.format("classifiers='text'")}, "classifiers is no list of texts"),
        ({"setup_py": "print 'Python 2'\n"}, "setup.py: SyntaxError"),
        ({"setup_py": "import build\nbuild.go()\n"}, "no calls of setup()"),
        ({"setup_py": PY.format("") + PY.format("")}, "2 calls of setup()"),
        ({"setup_py": "def setup(**more): pass\nsetup(classifiers=[])\n"}, "not the one of setuptools"),
        ({"setup_py": "from setuptools import setup as s\ns(classifiers=[])\n"}, "no calls of setup()"),
    ],
)
def test_a_claim_that_only_a_build_would_tell_is_untold_and_names_the_file(tmp_path, files, words):
    claim, findings = judged(project(tmp_path / "demo", **files))
    assert words in claim.untold
    assert codes(findings) == codes(findings, "inconclusive") == ["GA113"]
    assert "no level" not in str(claim)


@pytest.mark.parametrize(
    "files",
    [
        {"setup_cfg": CFG.replace(BETA, "Topic :: Internet")},
        {"setup_cfg": "[flake8]\nmax-line-length = 99\n", "setup_py": PY.format("ext_modules=modules()")},
        {"pyproject_toml": STATIC, "setup_py": PY.format("**arguments()")},
        {"pyproject_toml": STATIC + BACKEND.format("hatchling.build")},
        {"pyproject_toml": "[tool.other]\n"},
    ],
)
def test_a_project_without_a_claim_claims_nothing(tmp_path, files):
    claim, findings = judged(project(tmp_path / "demo", **files))
    assert (claim.level, claim.untold) == (0, "")
    assert codes(findings) == []


@pytest.mark.parametrize("build", [wheel, sdist])
def test_what_a_build_has_written_tells_the_claim(tmp_path, build):
    folder = project(tmp_path / "demo", pyproject_toml=DYNAMIC)
    more = {"tag": "py3-none-any"} if build is wheel else {}
    claim, findings = judged(open_path(build(tmp_path, classifiers=[STABLE], **more)), folder)
    assert (claim.level, claim.untold) == (3, "")
    assert codes(findings) == []


def test_a_setting_of_the_level_tells_the_claim(tmp_path):
    claim, findings = judged(project(tmp_path / "demo", pyproject_toml=DYNAMIC), settings=AuditSettings(level=0))
    assert (str(claim), codes(findings)) == ("no level of free-threading support", [])


def test_a_claim_in_a_setup_file_is_compared_and_has_its_line(tmp_path):
    folder = project(tmp_path / "demo", setup_cfg=CFG)
    claim, findings = judged(open_path(wheel(tmp_path, "py3-none-any", classifiers=[STABLE])), folder)
    assert str(claim.place) == "setup.cfg:6"
    assert codes(findings) == ["GA112"]


def test_whether_less_is_claimed_than_before_cannot_be_told_of_an_untold_claim(tmp_path):
    untold, told = project(tmp_path / "one", pyproject_toml=DYNAMIC), project(tmp_path / "two", setup_cfg=CFG)
    for one, before in ((untold, told), (told, untold)):
        _, findings = judged(one, previous=[before])
        assert "GA108" in codes(findings, "inconclusive")
    assert codes(judged(told, previous=[told])[1]) == []


def test_dependencies_and_the_python_of_poetry_are_read(tmp_path):
    text = POETRY + '[tool.poetry.dependencies]\npython = "^3.11"\nNumPy = "^2"\nextra = {version = "1", optional = true}\n'
    text += 'win = {version = "1", markers = "sys_platform == \'win32\'", extras = ["all"]}\n'
    said = project(tmp_path / "demo", pyproject_toml=text).metadata
    assert said.requires == ("NumPy", "win[all]; sys_platform == 'win32'")
    assert "^3.11" in said.untold["requires-python"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"setup_cfg": "no section\n"}, "setup.cfg: "),
        ({"setup_cfg": "[metadata]\nversion = no version\n"}, "setup.cfg: version"),
        ({"setup_py": PY.format("python_requires='three'")}, "setup.py: requires-python"),
        ({"pyproject_toml": "[project\n"}, "pyproject.toml: no TOML"),
        ({"pyproject_toml": "[tool.poetry]\nclassifiers = 1\n"}, "pyproject.toml: tool.poetry.classifiers"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_that_names_it(tmp_path, files, words):
    findings = project(tmp_path / "demo", **files).findings
    assert [(one.code, one.severity, one.message.startswith(words)) for one in findings] == [("GA123", "error", True)]
