# syntax=docker/dockerfile:1
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make static && mkdir -m 0700 /data

# Nothing but the program, the certificates it trusts and the time zones.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /usr/local/go/lib/time/zoneinfo.zip /zoneinfo.zip
COPY --from=build /src/bin/minutebook /usr/bin/minutebook
COPY --from=build --chown=65532:65532 /data /data
ENV ZONEINFO=/zoneinfo.zip MINUTEBOOK_CONFIG=/etc/minutebook/config.toml TMPDIR=/data
USER 65532:65532
VOLUME /data
EXPOSE 8377 8378
HEALTHCHECK --interval=30s --timeout=6s --start-period=20s CMD ["/usr/bin/minutebook", "healthcheck"]
ENTRYPOINT ["/usr/bin/minutebook"]
CMD ["serve", "--create"]
