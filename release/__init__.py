"""Builds the files of a release, and signed repositories of them (docs/releases.md).

source: what a release is made from, and when it is refused. artefacts: the files. sbom: the list of
the libraries in each file. signing: signatures by GnuPG. repositories: for apt and dnf.
"""
