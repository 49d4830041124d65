import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import type { Server } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import { createAdaptorServer } from '@hono/node-server'
import type { createHubApp } from '#hub/api/app.ts'
import { describeError } from '#shared/errors.ts'
import type { Part } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { HubConfig } from './config.ts'

const DRAIN_MS = 5_000
/** Longer than balancers in front keep a connection, and than gateways rest: who sends just when it is closed fails. */
const KEEP_ALIVE_MS = 75_000
const CERTIFICATE_CHECK_MS = 60_000

/** Listens for HTTP, or for HTTPS with a certificate, which is read again when its file changes. */
export class HttpListener implements Part {
  readonly #config: Pick<HubConfig, 'host' | 'port' | 'tls'>
  readonly #log: Log
  readonly #server: Server | SecureServer
  #certificateTimer: NodeJS.Timeout | undefined
  #readAtMs = 0

  constructor(
    config: Pick<HubConfig, 'host' | 'port' | 'tls'>,
    fetch: ReturnType<typeof createHubApp>['fetch'],
    log: Log,
  ) {
    this.#config = config
    this.#log = log
    // createAdaptorServer makes an HTTP/1 server unless told otherwise, and is told HTTPS/1.1 at most
    this.#server = createAdaptorServer(
      config.tls === undefined ? { fetch } : { fetch, createServer: createSecureServer, serverOptions: {} },
    ) as Server | SecureServer
    this.#server.keepAliveTimeout = KEEP_ALIVE_MS
  }

  /** Throws when the port cannot be had or the certificate cannot be used. */
  async start(): Promise<void> {
    const { host, port, tls } = this.#config
    if (tls !== undefined) {
      this.#readCertificate(tls)
      this.#certificateTimer = setInterval(() => this.#readChangedCertificate(tls), CERTIFICATE_CHECK_MS)
    }
    this.#server.listen({ port, host, backlog: 1024 })
    await once(this.#server, 'listening')
  }

  /** Takes no more requests, and waits a while for those under way. */
  async stop(): Promise<void> {
    clearInterval(this.#certificateTimer)
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeIdleConnections()
    const cutOff = setTimeout(() => this.#server.closeAllConnections(), DRAIN_MS)
    await closed
    clearTimeout(cutOff)
  }

  get url(): string {
    const address = this.#server.address()
    if (typeof address !== 'object' || address === null) throw new Error('not listening')
    const { host, tls } = this.#config
    const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
    return `${tls === undefined ? 'http' : 'https'}://${shown.includes(':') ? `[${shown}]` : shown}:${address.port}`
  }

  #readCertificate({ certPath, keyPath }: { certPath: string; keyPath: string }): void {
    const changedAtMs = Math.max(statSync(certPath).mtimeMs, statSync(keyPath).mtimeMs)
    if (changedAtMs === this.#readAtMs) return
    const context = {
      cert: readFileSync(certPath),
      key: readFileSync(keyPath),
      minVersion: 'TLSv1.2',
    } as const
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(context)
    this.#readAtMs = changedAtMs
  }

  #readChangedCertificate(tls: { certPath: string; keyPath: string }): void {
    try {
      this.#readCertificate(tls)
    } catch (error) {
      this.#log.warn({ reason: describeError(error) }, 'certificate not reloaded, the one in use stays')
    }
  }
}
