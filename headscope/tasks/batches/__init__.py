"""Batches of examples: encoding, sorting by length, splitting where memory is short, masked losses."""
