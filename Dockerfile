# Both halves of ssd-exporter: the exporter, which is what it runs as, and the agent. How to run
# them: container/README.md. Plain enough for docker, podman and buildah.
FROM debian:bookworm-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3-venv \
 && python3 -m venv /venv
COPY pyproject.toml README.md CHANGELOG.md METRICS.md LICENSE /src/
COPY exporter /src/exporter
COPY alerts /src/alerts
COPY dashboards /src/dashboards
COPY docs /src/docs
COPY systemd /src/systemd
COPY packaging /src/packaging
COPY container/config.toml container/health.py /src/container/
# What the packages install, by what installs them: libraries known by their sums. Of that the units,
# the man page and the completion are of no use here.
RUN /src/packaging/stage.sh /venv/bin/python "$(uname -m)" /stage \
 && /stage/install.sh --prefix=/usr --destdir=/out --python=/usr/bin/python3 \
 && rm -rf /out/etc /out/usr/lib/systemd /out/usr/lib/sysusers.d /out/usr/lib/tmpfiles.d \
      /out/usr/lib/ssd-exporter.files /out/usr/share/man /out/usr/share/bash-completion \
      /out/usr/share/doc \
 && install -D -m 644 /src/LICENSE /out/usr/share/doc/ssd-exporter/LICENSE \
 && install -D -m 644 /src/container/config.toml /out/etc/ssd-exporter/config.toml \
 && install -D -m 755 /src/container/health.py /out/usr/bin/ssd-exporter-health \
 # Never looked at again, so that no layer's time makes Python compile it at each start.
 && python3 -m compileall -q --invalidation-mode unchecked-hash -s /out /out/usr/lib/ssd-exporter

FROM debian:bookworm-slim
# no: without fio, and so without probes.
ARG FIO=yes
# fio is linked to the clients of Ceph, Gluster and RDMA, and does not start without them. What they
# bring along besides is not loaded by it.
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 smartmontools \
      $(test "$FIO" = no || echo fio) \
 && apt-get clean && rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/* \
 && groupadd --gid 10177 ssd-exporter \
 && useradd --uid 10177 --gid 10177 --no-create-home --home-dir /var/lib/ssd-exporter \
      --shell /usr/sbin/nologin ssd-exporter \
 # Its group may write, for who runs it as root without the right to write where others may.
 && install -d -o 10177 -g 10177 -m 770 /var/lib/ssd-exporter \
 && install -d -o 0 -g 10177 -m 750 /run/ssd-smart-agent
COPY --from=build /out /

ARG VERSION=0.1.0
ARG REVISION=
ARG CREATED=
LABEL org.opencontainers.image.title="ssd-exporter" \
      org.opencontainers.image.description="Prometheus exporter and health monitor for the SSDs under MySQL" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="docker.io/library/debian:bookworm-slim"

# By number, for Kubernetes' runAsNonRoot.
USER 10177:10177
VOLUME /var/lib/ssd-exporter
EXPOSE 10177
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s --retries=3 CMD ["ssd-exporter-health"]
ENTRYPOINT ["ssd-exporter"]
CMD ["--config.file=/etc/ssd-exporter/config.toml"]
