# Blockscope for a class: one process a core behind a proxy. `docker compose up`, or a Hugging Face Space (assets/serve/space.yml).
FROM python:3.12-slim
RUN apt-get update -q && apt-get install -y -q --no-install-recommends caddy \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 --create-home blockscope
WORKDIR /blockscope
COPY requirements.txt requirements-serve.txt ./
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu "torch>=2.11,<2.14" \
 && pip install --no-cache-dir -r requirements-serve.txt
COPY . .
USER 1000
ENV DATA=/tmp/blockscope SITE=:8501
EXPOSE 8501
HEALTHCHECK --start-period=60s CMD python -c "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/_stcore/health')"
CMD ["assets/serve/start.sh"]
