"""Test the installed package: `python -m pytest` puts the unbuilt source tree first on the path."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
