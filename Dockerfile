# The executable of a release on a Debian, nothing else. `npm run build:release` makes it; RELEASE is the folder that it lies in, also
# that of an unpacked archive of a release: docker build --build-arg RELEASE=. -f Dockerfile cartbarn-VERSION-linux-arm64
ARG BASE=debian:trixie-slim
FROM ${BASE}
ARG RELEASE=dist/release/linux-x64
# the user and group of the volumes of earlier images
RUN groupadd --gid 1000 cartbarn \
    && useradd --uid 1000 --gid 1000 --home-dir /data --no-create-home --shell /usr/sbin/nologin cartbarn \
    && install --directory --mode=700 --owner=cartbarn --group=cartbarn /data
COPY --chmod=644 ${RELEASE}/LICENSES.txt /usr/share/doc/cartbarn/LICENSES.txt
COPY --chmod=755 ${RELEASE}/cartbarn /usr/local/bin/cartbarn
ENV CARTBARN_DATA_DIR=/data CARTBARN_HUB_DATA_DIR=/data/hub
USER 1000:1000
WORKDIR /data
VOLUME /data
EXPOSE 8080 1883 8883
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["cartbarn", "health"]
# as process 1 it gets SIGTERM itself
ENTRYPOINT ["cartbarn"]
CMD ["run"]
