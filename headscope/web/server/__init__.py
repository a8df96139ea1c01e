"""The server around Streamlit: sign-in, hosts, headers, downloads."""
