# The executable on a Debian, nothing else. `docker build .` builds it from this folder, where nothing needs to be built before.
# To pack an executable that exists, name the folder that it lies in, of a release or of an unpacked archive of one:
#   docker build --build-arg RELEASE=dist/release/linux-arm64 .
ARG BASE=debian:trixie-slim
ARG BUILDER=node:24-trixie-slim
ARG RELEASE=
ARG PACKER=${RELEASE:+${BASE}}

FROM ${PACKER:-${BUILDER}} AS program
ARG RELEASE
WORKDIR /cartbarn
COPY ${RELEASE:-.} .
RUN if [ -n "$RELEASE" ]; then mkdir /program && cp cartbarn LICENSES.txt /program; \
    else npm run build:program -- /program; fi

FROM ${BASE}
# the user and group of the volumes of earlier images
RUN groupadd --gid 1000 cartbarn \
    && useradd --uid 1000 --gid 1000 --home-dir /data --no-create-home --shell /usr/sbin/nologin cartbarn \
    && install --directory --mode=700 --owner=cartbarn --group=cartbarn /data
COPY --from=program --chmod=644 /program/LICENSES.txt /usr/share/doc/cartbarn/LICENSES.txt
COPY --from=program --chmod=755 /program/cartbarn /usr/local/bin/cartbarn
ENV CARTBARN_DATA_DIR=/data CARTBARN_HUB_DATA_DIR=/data/hub
USER 1000:1000
WORKDIR /data
VOLUME /data
EXPOSE 8080 1883 8883
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["cartbarn", "health"]
# as process 1 it gets SIGTERM itself
ENTRYPOINT ["cartbarn"]
CMD ["run"]
