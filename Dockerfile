# The monitor in a container: reads the host's /proc and /sys, needs no rights and no device.
#
#   docker run -d --name ssd-exporter --pid=host --network=host \
#     -v /proc:/host/proc:ro -v /sys:/host/sys:ro -v /:/host/root:ro,rslave \
#     -v ssd-exporter:/var/lib/ssd-exporter ssd-exporter
FROM debian:bookworm-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3-venv \
 && rm -rf /var/lib/apt/lists/*
COPY pyproject.toml README.md LICENSE /src/
COPY exporter /src/exporter
RUN python3 -m venv /opt/ssd-exporter && /opt/ssd-exporter/bin/pip install --no-cache-dir /src

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 smartmontools fio \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --home-dir /var/lib/ssd-exporter --create-home ssd-exporter
COPY --from=build /opt/ssd-exporter /opt/ssd-exporter
USER ssd-exporter
VOLUME /var/lib/ssd-exporter
EXPOSE 10177
ENTRYPOINT ["/opt/ssd-exporter/bin/ssd-exporter", "--web.listen-address=:10177", \
            "--path.procfs=/host/proc", "--path.sysfs=/host/sys", "--path.rootfs=/host/root"]
