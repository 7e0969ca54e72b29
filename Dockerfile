# docker build -t target-bench . && docker run target-bench
# docker run -v "$PWD:/work" target-bench run ./tables --retriever retriever.py:Mine
FROM python:3.12-slim
COPY pyproject.toml README.md LICENSE /src/
COPY target_bench /src/target_bench/
COPY retrievers /src/retrievers/
COPY generators /src/generators/
COPY corpora /src/corpora/
RUN pip install --no-cache-dir /src && rm -r /src
WORKDIR /work
ENTRYPOINT ["target-bench"]
CMD ["run", "mini"]
