# One image for the five services, the console and the command line: `python -m gossamer.services.fetcher`, `gossamer pages`.
FROM python:3.13-slim-trixie AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/gossamer
COPY requirements-fleet.lock requirements-api.lock requirements-parquet.lock requirements-s3.lock /app/
# Wheels only: no locked package needs compiling, and the image has no compiler.
# A lock file is complete, hence --no-deps. Packages in both files have the same version.
RUN for kind in fleet api parquet s3; do \
      /opt/gossamer/bin/pip install --no-deps --require-hashes --only-binary=:all: -r /app/requirements-$kind.lock || exit 1; \
    done
COPY pyproject.toml README.md LICENSE /app/
COPY gossamer /app/gossamer
COPY services /app/services
COPY schemas /app/schemas
# Editable, so that the image contains the code once.
RUN /opt/gossamer/bin/pip install --no-build-isolation --no-deps --editable /app \
 && /opt/gossamer/bin/pip uninstall --yes hatchling editables pip \
 && /opt/gossamer/bin/python -m compileall -q /app

FROM python:3.13-slim-trixie
# The user id is fixed: volumes and pod security settings name it.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /tmp --shell /usr/sbin/nologin gossamer \
 && install --directory --owner=gossamer --group=gossamer /data /blobs /console
COPY --from=build /opt/gossamer /opt/gossamer
COPY --from=build /app /app
ENV PATH=/opt/gossamer/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /data
USER 10001:10001
CMD ["gossamer", "--help"]
