# Image of ssd-exporter: exporter (default command) and agent. container/README.md describes how to
# run them. Compatible with docker, podman and buildah.
#
# `make release` sets a base that it has made of Debian packages.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3-venv \
 && python3 -m venv /venv
COPY pyproject.toml README.md CHANGELOG.md METRICS.md DESIGN.md CONTRIBUTING.md SECURITY.md LICENSE /src/
COPY exporter /src/exporter
COPY alerts /src/alerts
COPY dashboards /src/dashboards
COPY docs /src/docs
COPY systemd /src/systemd
COPY packaging /src/packaging
COPY container/config.toml container/health.py container/README.md /src/container/
# Installs the same files as the packages, with the same scripts and verified hashes. Units, man
# pages and completions are not needed here. `make release` mounts what it has staged for the packages.
RUN if test -d /staged; then cp -R /staged /stage; \
    else /src/packaging/stage.sh /venv/bin/python "$(uname -m)" /stage; fi \
 && /stage/install.sh --prefix=/usr --destdir=/out --python=/usr/bin/python3 \
 && rm -rf /out/etc /out/usr/lib/systemd /out/usr/lib/sysusers.d /out/usr/lib/tmpfiles.d \
      /out/usr/lib/ssd-exporter.files /out/usr/share/man /out/usr/share/bash-completion /out/usr/share/zsh \
      /out/usr/share/fish /out/usr/share/doc \
 && install -D -m 644 /src/LICENSE /out/usr/share/doc/ssd-exporter/LICENSE \
 && install -D -m 644 /src/container/config.toml /out/etc/ssd-exporter/config.toml \
 && install -D -m 755 /src/container/health.py /out/usr/bin/ssd-exporter-health \
 # unchecked-hash: Python does not compare time stamps, because image layers change them. It never
 # compiles at start.
 && python3 -m compileall -q --invalidation-mode unchecked-hash -s /out /out/usr/lib/ssd-exporter

# Debian's package of fio is linked to client libraries of Ceph, Gluster and RDMA, which take 70 MB. This
# is fio from Debian's source package, with the engines that probes use: psync, libaio and io_uring.
FROM ${BASE} AS fio
# FIO=no builds an image without fio, which cannot run probes and measurements.
ARG FIO=yes
RUN mkdir -p /out \
 && if test "$FIO" = no; then exit; fi \
 # The official image has the first file, images of debootstrap the second.
 && if test -f /etc/apt/sources.list.d/debian.sources; then \
      sed -i 's/^Types: deb$/& deb-src/' /etc/apt/sources.list.d/debian.sources; \
    else sed -i 's/^deb \(.*\)/&\ndeb-src \1/' /etc/apt/sources.list; fi \
 && apt-get update \
 && apt-get install -y --no-install-recommends dpkg-dev gcc libaio-dev libc6-dev make patch zlib1g-dev \
 && cd /tmp && apt-get source --quiet fio && cd fio-*/ \
 && ./configure --disable-native --disable-gfapi --disable-rados --disable-rbd --disable-rdma \
      --disable-http --disable-pmem --disable-numa --disable-lex \
 # The static library: the image needs no further package.
 && sed -i 's/-laio/-l:libaio.a/' config-host.mak Makefile \
 && make -j2 fio \
 && install -D -s fio /out/usr/bin/fio \
 && mkdir -p /out/usr/share/doc/fio \
 && dpkg-parsechangelog --show-field=Version > /out/usr/share/doc/fio/version \
 && install -D -m 644 debian/copyright /out/usr/share/doc/fio/copyright

FROM ${BASE}
# Time of files that contain the time of their creation, in seconds since 1970; empty: now.
ARG SOURCE_DATE_EPOCH=
RUN if test -z "$SOURCE_DATE_EPOCH"; then unset SOURCE_DATE_EPOCH; fi \
 && apt-get update \
 && apt-get install -y --no-install-recommends python3 smartmontools \
 && apt-get clean \
 && rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache /var/log/* \
 && groupadd --gid 10177 ssd-exporter \
 && useradd --uid 10177 --gid 10177 --no-create-home --home-dir /var/lib/ssd-exporter \
      --shell /usr/sbin/nologin ssd-exporter \
 && install -d -o 10177 -g 10177 -m 770 /var/lib/ssd-exporter \
 # For an exporter that runs as root, which keeps no state in a directory of another user.
 && install -d -o 0 -g 0 -m 700 /var/lib/ssd-exporter-root \
 && install -d -o 0 -g 10177 -m 750 /run/ssd-smart-agent
COPY --from=build /out /
COPY --from=fio /out /

ARG VERSION=0.1.0
ARG REVISION=
ARG CREATED=
ARG BASE_NAME=docker.io/library/debian:bookworm-slim
LABEL org.opencontainers.image.title="ssd-exporter" \
      org.opencontainers.image.description="SSD health and I/O bottleneck monitor (Prometheus exporter)" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.url="https://example.org/ssd-exporter" \
      org.opencontainers.image.source="https://example.org/ssd-exporter" \
      org.opencontainers.image.documentation="https://example.org/ssd-exporter/blob/HEAD/container/README.md" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="${BASE_NAME}"

# As in systemd/ssd-exporter.service.
ENV MALLOC_ARENA_MAX=1 GLIBC_TUNABLES=glibc.malloc.tcache_count=0

# Numeric IDs, as required by runAsNonRoot of Kubernetes.
USER 10177:10177
VOLUME /var/lib/ssd-exporter
EXPOSE 10177
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s --retries=3 CMD ["ssd-exporter-health"]
ENTRYPOINT ["ssd-exporter"]
CMD ["--config.file=/etc/ssd-exporter/config.toml"]
