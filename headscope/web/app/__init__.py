"""What Streamlit runs: the server, and the script that shows the page a link names."""
