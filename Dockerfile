# The app at /app/, which takes packages that the gateway does not run on.
FROM node:24-bookworm-slim AS dashboard
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node scripts/release/build-dashboard.ts /app/dist/dashboard image

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No scripts: better-sqlite3 carries its binaries, and the one script there is fetches a Node.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# Only what .dockerignore lets through, less what only builds the app.
COPY . .
RUN rm -r gateway/dashboard scripts/release tsconfig.json
COPY --from=dashboard /app/dist/dashboard dist/dashboard

FROM node:24-bookworm-slim
ENV NODE_ENV=production CARTBARN_DATA_DIR=/data \
    NODE_COMPILE_CACHE=/app/.compile-cache NODE_OPTIONS="--max-semi-space-size=4 --v8-pool-size=1"
WORKDIR /app
COPY --from=build /app ./
# docker exec CONTAINER cartbarn COMMAND
RUN printf '#!/bin/sh\nexec node /app/scripts/commands/cartbarn.ts "$@"\n' > /usr/local/bin/cartbarn \
    && chmod 755 /usr/local/bin/cartbarn
RUN mkdir -m 700 /data .compile-cache && chown node:node /data .compile-cache
USER node
# Strips the types once, into the cache that every start reads; the cache is good only for this user and these options.
RUN CARTBARN_DATA_DIR=/tmp/warm CARTBARN_HTTP_PORT=0 CARTBARN_MQTT_PORT=0 CARTBARN_HOST=127.0.0.1 \
    timeout --preserve-status 5 node scripts/commands/cartbarn.ts run && rm -rf /tmp/warm
VOLUME /data
EXPOSE 8080 1883 8883
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "require(process.env.CARTBARN_TLS_CERT ? 'https' : 'http').get({ host: '127.0.0.1', port: process.env.CARTBARN_HTTP_PORT || 8080, path: '/health', rejectUnauthorized: false }, (r) => process.exit(r.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
# The exec form makes node process 1, so it gets SIGTERM itself.
CMD ["node", "scripts/commands/cartbarn.ts", "run"]
