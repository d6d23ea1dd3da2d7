# The image of the operator. `make image` builds the same without Docker, and puts the commit into it.
#   docker build -t templater:dev .
#   docker buildx build --platform linux/amd64,linux/arm64 -t registry.example.org/templater:v1 --push .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api api
COPY cmd cmd
COPY docs docs
COPY internal internal
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=auto "-ldflags=-s -w" -o /templater ./cmd/templater

FROM scratch
LABEL org.opencontainers.image.title="templater" \
      org.opencontainers.image.description="Operators from templates" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /templater /templater
USER 65532:65532
ENTRYPOINT ["/templater"]
