"""How English and German say a derivation."""
