"""The packages of the distribution: `headscope`, three folders of which lie beside it in a checkout."""

from setuptools import find_packages, setup

FOLDERS = ("analysis", "pruning", "pages")
"""Folders of the checkout that are packages within headscope; the links in headscope/ lead to them too."""

outside = {f"headscope.{name}": name for name in FOLDERS}
found = [
    "headscope",
    *(f"headscope.{name}" for name in find_packages("headscope") if name.split(".")[0] not in FOLDERS),
]
found += [
    f"headscope.{name}"
    for name in find_packages(".", include=[f"{one}{rest}" for one in FOLDERS for rest in ("", ".*")])
]

setup(
    packages=[*found, "headscope.settings"],
    package_dir={"headscope": "headscope", "headscope.settings": ".streamlit", **outside},
    package_data={
        "headscope": ["py.typed"],
        "headscope.settings": ["config.toml"],
        "headscope.tasks.natural": ["README.md"],
        "headscope.specimens": ["*/README.md", "*/*.json", "*/*.safetensors"],
        "": ["*.css", "*.js", "*.conllu", "*.tsv", "*.txt"],
    },
    exclude_package_data={"headscope.settings": ["secrets.toml"]},
    include_package_data=False,
)
