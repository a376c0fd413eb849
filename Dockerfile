# syntax=docker/dockerfile:1
ARG NODE=24

FROM node:${NODE}-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# No install script of a package is needed.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# Gateways that share state need ioredis, in the version that the tests ran with.
RUN npm run build \
  && redis=$(node -p "require('ioredis/package.json').version") \
  && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
  && npm install --no-save --omit=dev --ignore-scripts --no-audit --no-fund "ioredis@$redis"

FROM node:${NODE}-bookworm-slim
# A gateway starts processes that start others; the first process reaps their orphans.
RUN apt-get update \
  && apt-get install -y --no-install-recommends tini \
  && rm -rf /var/lib/apt/lists/* \
  && install -d -o node -g node -m 700 /var/lib/toolpipe
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/core/config.schema.json core/config.schema.json
COPY --from=build /build/dist dist
COPY playground/deploy/toolpipe.config.yaml /etc/toolpipe/toolpipe.config.yaml
ENV NODE_ENV=production TOOLPIPE_HOME=/var/lib/toolpipe
# All files are written there, so the rest can be read-only.
VOLUME /var/lib/toolpipe
USER node
EXPOSE 7007
# A client starts it with `docker run -i --rm`, and speaks over stdio; compose.yaml serves over HTTP.
ENTRYPOINT ["tini", "--", "node", "/app/dist/plugins/cli/toolpipe.js"]
CMD ["serve"]
