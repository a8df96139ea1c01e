"""Masks, smaller models and their export."""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # read when onnxruntime is imported, which only this package does
