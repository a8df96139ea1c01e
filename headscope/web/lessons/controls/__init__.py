"""What a step of a lesson shows and lets people do, one control a file, all made of what the pages have."""
