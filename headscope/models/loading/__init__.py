"""Loads a model, after its files, its size and its tokenizer were checked."""
