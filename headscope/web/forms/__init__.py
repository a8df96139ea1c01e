"""Forms in which a user says what to compute."""
