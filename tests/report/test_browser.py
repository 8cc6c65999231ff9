"""The page of a study in a browser: it needs nothing but itself, and can be read.

Needs Playwright (``pip install -e "workflow[test-report]"``) and Chromium (Debian's
package `chromium`, or `playwright install chromium`); the page of the papers also needs
the real data in TRIALWISE_MIRROR.
"""

import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (360, 1400)
STUDIES = {
    "simulated": {
        "base": "demo.yaml",
        "experiments": [
            {
                "name": "simulated",
                "simulate": {
                    "images": 160,
                    "groups": [
                        {
                            "name": "subject",
                            "observers": 3,
                            "accuracy": 0.75,
                            "consistency": 0.33,
                        },
                        {
                            "name": "network",
                            "observers": 4,
                            "accuracy": 0.25,
                            "consistency": 0.6,
                        },
                    ],
                    "between": 0.07,
                },
            }
        ],
        "coverage": {"worlds": 5, "observers": 4, "images": 40},
        "learning": {
            "images": "simulated",
            "simulate": {
                "images": 250,
                "features": 6,
                "decoys": 1,
                "participants": 8,
                "beta": 2,
                "sigma": 0.3,
            },
            "participants": "all",
            "protocols": ["comparable"],
            "tasks": ["reward"],
            "learners": ["main"],
            "models": ["source", "decoy-1"],
        },
    },
    "papers": {
        "base": "config.yaml",
        "n_resamples": 200,
        "n_matrices": 200,
        "published": ["error-consistency", "factors"],
        "learning": {
            "protocols": ["comparable"],
            "tasks": ["reward"],
            "learners": ["main"],
            "models": ["spose-49"],
        },
    },
}


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: test-report."
    )
    with playwright.sync_playwright() as driver:
        found = [path for name in BROWSERS if (path := shutil.which(name))]
        own = driver.chromium.executable_path
        if not found and not Path(own).exists():
            pytest.skip("There is no Chromium: apt-get install chromium.")
        # A process of root cannot have the sandbox.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(
            executable_path=found[0] if found else own, args=options
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=STUDIES)
def page_file(request, browser, tmp_path_factory):
    """The page of a study that the workflow has made."""
    environment = dict(os.environ)
    if request.param == "papers":
        mirror = request.getfixturevalue("mirror")
        environment["TRIALWISE_MIRROR"] = str(mirror.resolve())
    folder = tmp_path_factory.mktemp(request.param)
    for name in ("config", "resources"):
        (folder / name).symlink_to(ROOT / name)
    study = dict(STUDIES[request.param])
    shipped = yaml.safe_load((ROOT / "config" / study.pop("base")).read_text())
    (folder / "study.yaml").write_text(yaml.safe_dump({**shipped, **study}))
    target = f"{shipped['results']}/summary/report.html"
    command = [sys.executable, "-m", "snakemake", target, "--cores", "2"]
    command += ["--snakefile", ROOT / "Snakefile", "--directory", folder]
    done = subprocess.run(
        [str(word) for word in [*command, "--configfile", folder / "study.yaml"]],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return folder / target


@pytest.fixture(params=WIDTHS)
def opened(request, browser, page_file):
    """The page in a window of some width, what it asked for, and what was wrong."""
    page = browser.new_page(viewport={"width": request.param, "height": 900})
    requests, faults = [], []
    page.on("request", lambda asked: requests.append(asked.url))
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(page_file.as_uri())
    page.eval_on_selector_all("details", "all => all.forEach(d => (d.open = true))")
    yield page, [url for url in requests if not url.startswith("data:")], faults
    page.close()


def test_page_asks_for_nothing_and_reports_no_fault(opened, page_file):
    _, requests, faults = opened
    assert requests == [page_file.as_uri()]
    assert faults == []
    assert page_file.stat().st_size < 15e6


def test_pictures_are_drawn_and_described(opened):
    page, _, _ = opened
    images = page.eval_on_selector_all(
        "img", "all => all.map(i => [i.naturalWidth, i.alt.trim()])"
    )
    assert images
    assert all(width > 0 and alt for width, alt in images)


def test_tables_have_headers(opened):
    page, _, _ = opened
    scopes = page.eval_on_selector_all(
        "table",
        "all => all.map(t => [...t.querySelectorAll('th')].map(h => h.scope))",
    )
    assert scopes
    for table in scopes:
        assert {"col", "row"} <= {*table} <= {"col", "row", "rowgroup"}


def test_page_is_no_wider_than_its_window(opened):
    page, _, _ = opened
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]


def test_headings_are_in_order_and_links_lead_somewhere(opened):
    page, _, _ = opened
    levels = page.eval_on_selector_all(
        "h1, h2, h3, h4, h5, h6", "all => all.map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    targets = page.eval_on_selector_all(
        "nav a", "all => all.map(a => a.getAttribute('href').slice(1))"
    )
    assert targets
    assert all(page.locator(f"[id='{target}']").count() == 1 for target in targets)


def test_text_of_the_page_can_be_told_from_its_ground(opened):
    """At least 4.5 to 1, the contrast that WCAG 2 asks for."""
    page, _, _ = opened
    colours = page.eval_on_selector_all(
        "p, th, td, figcaption, summary, a, dt, dd, .quiet",
        "all => [...new Set(all.map(e => getComputedStyle(e).color))]",
    )
    for colour in colours:
        levels = [int(part) / 255 for part in colour[4:-1].split(",")[:3]]
        linear = [
            x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in levels
        ]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        assert 1.05 / (luminance + 0.05) >= 4.5, colour
