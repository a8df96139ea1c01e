"""Parts of a page that answer one question each."""
