# Headscope in a container: docs/deployment.md tells how to run it.
FROM python:3.11-slim-bookworm AS build
COPY requirements.txt ./
COPY requirements ./requirements
# What torch brings for building and testing itself, 145 MB, is left out.
RUN python -m venv /venv \
 && /venv/bin/pip install --no-cache-dir --no-deps --require-hashes \
      -r requirements/app-hashes.lock -r requirements/oidc-hashes.lock \
 && /venv/bin/pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
      -r requirements/oidc.txt -c requirements/all.lock \
 && rm -rf /venv/lib/python3.11/site-packages/torch/include /venv/lib/python3.11/site-packages/torch/test

FROM python:3.11-slim-bookworm
RUN useradd --no-log-init --uid 10001 --home-dir /data --shell /usr/sbin/nologin headscope \
 && mkdir /data && chown 10001 /data
COPY --from=build /venv /venv
# The code belongs to root, so that the app cannot change it. Told its own address, Streamlit asks no stranger for it.
WORKDIR /app
COPY . .
ENV PATH=/venv/bin:$PATH \
    HOME=/data \
    HEADSCOPE_HOME=/data \
    HF_HOME=/data/hub \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_PORT=8501 \
    STREAMLIT_SERVER_HEADLESS=true \
    STREAMLIT_BROWSER_SERVER_ADDRESS=localhost
USER 10001
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD ["python", "-m", "headscope", "app"]
