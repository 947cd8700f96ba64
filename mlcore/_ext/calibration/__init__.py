"""Loops of mlcore.calibration."""
