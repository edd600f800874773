# The base image where a Debian image is at hand; without one, build-base.sh makes the same from packages.
ARG BASE
FROM ${BASE}
COPY dpkg-options /etc/dpkg/dpkg.cfg.d/mao
COPY packages /tmp/packages
COPY site-ca/ /usr/local/share/ca-certificates/
RUN apt-get update -q \
    && DEBIAN_FRONTEND=noninteractive xargs -a /tmp/packages apt-get install -y -q --no-install-recommends \
    && update-ca-certificates \
    && apt-get clean && rm -rf /var/lib/apt/lists/* /tmp/packages
