#!/usr/bin/env bash
# Snakemake runs this in the folder it was started in, with the environment active.
set -euo pipefail
pip install --no-deps -e workflow
