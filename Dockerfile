# syntax=docker/dockerfile:1
# docker build --build-arg VERSION=$(packaging/version) -t minutebook .
# For another processor add --platform linux/arm64 (or amd64): it is cross-compiled.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
ARG TARGETARCH
RUN if [ "${TARGETARCH:-$(go env GOHOSTARCH)}" != "$(go env GOHOSTARCH)" ]; then \
	case $TARGETARCH in \
	arm64) cross="gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;; \
	amd64) cross="gcc-x86-64-linux-gnu libc6-dev-amd64-cross" ;; \
	esac && apt-get update -qq && apt-get install -y -qq --no-install-recommends $cross; fi
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION
RUN VERSION=$VERSION packaging/build /out/minutebook ${TARGETARCH:-$(go env GOHOSTARCH)} && mkdir -m 0700 /out/data /out/backups

# Nothing but the program, which holds the time zones, the certificates that it trusts, and a
# configuration.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chmod=0644 /src/packaging/container.toml /etc/minutebook/config.toml
COPY --from=build /out/minutebook /usr/bin/minutebook
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/backups /backups
ENV PATH=/usr/bin TMPDIR=/data \
	MINUTEBOOK_CONFIG=/etc/minutebook/config.toml MINUTEBOOK_DATA_DIR=/data
USER 65532:65532
VOLUME /data
EXPOSE 8377 8378
HEALTHCHECK --interval=30s --timeout=6s --start-period=20s CMD ["/usr/bin/minutebook", "healthcheck"]
ENTRYPOINT ["/usr/bin/minutebook"]
CMD ["serve", "--create"]
