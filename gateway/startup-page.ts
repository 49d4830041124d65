import type { Duplex } from 'node:stream'
import { AppError } from '#shared/errors.ts'
import { refuseConnection } from '#shared/http/connections/raw-refusal.ts'
import { problemOf } from '#shared/http/problem.ts'
import { SAFETY_HEADERS } from '#shared/http/request-guards.ts'
import { newUuid } from '#shared/ids.ts'
import { toIso } from '#shared/time.ts'
import type { UpgradeProgress } from '#store/upgrade/upgrade.ts'

const RETRY_S = 5
/** Served during the start, when the app may not be built yet. */
const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="${RETRY_S}"><title>cartbarn</title>
<h1>The gateway is being upgraded.</h1><p>This page reloads automatically. Carts keep their data meanwhile.</p>
<h1 lang="de">Das Gateway wird aktualisiert.</h1><p lang="de">Diese Seite sieht von selbst wieder nach. Die Carts
heben auf, was sie messen.</p>`

interface OpeningDeps {
  nowMs(): number
  clockState(): string
}

/** Answers HTTP requests before the gateway is ready, while its database is upgraded to the current schema. */
export class StartupPage {
  readonly #deps: OpeningDeps
  #progress: UpgradeProgress | null = null
  #isDone = false

  constructor(deps: OpeningDeps) {
    this.#deps = deps
  }

  /** Sets the progress; null when the upgrade is done and the other components are starting. */
  setProgress(progress: UpgradeProgress | null): void {
    this.#progress = progress
  }

  /** Called when the gateway answers requests itself. */
  done(): void {
    this.#isDone = true
  }

  get isDone(): boolean {
    return this.#isDone
  }

  answer(request: Request): Response {
    const { pathname } = new URL(request.url)
    const headers = { ...SAFETY_HEADERS, 'cache-control': 'no-store', 'retry-after': String(RETRY_S) }
    if (pathname.replace(/\/$/, '') === '/health') return Response.json(this.#health(), { status: 503, headers })
    if (request.method === 'GET' && request.headers.get('accept')?.includes('text/html') === true)
      return new Response(PAGE, {
        status: 503,
        headers: { ...headers, 'content-type': 'text/html; charset=utf-8' },
      })
    const { status, body, headers: own } = problemOf(upgrading(), newUuid())
    return Response.json(body, { status, headers: { ...headers, ...own } })
  }

  /** Rejects a WebSocket, whose client will retry. */
  refuse(socket: Duplex): void {
    socket.on('error', () => socket.destroy())
    refuseConnection(socket, upgrading())
  }

  #health() {
    const progress = this.#progress
    return {
      status: progress === null ? 'starting' : 'upgrading',
      timestamp: toIso(this.#deps.nowMs()),
      clock: this.#deps.clockState(),
      ...(progress?.kind === 'migration' ? { migration: progress.name, done: progress.done, of: progress.of } : {}),
    }
  }
}

function upgrading(): AppError {
  return new AppError('unavailable', 'upgrading', 'the gateway is being upgraded; try again soon', {
    retryAfterS: RETRY_S,
  })
}
