import type { Duplex } from 'node:stream'
import type { Restores } from '#services/restores.ts'
import { AppError } from '#shared/errors.ts'
import { refuseConnection } from '#shared/http/connections/raw-refusal.ts'
import { problemOf } from '#shared/http/problem.ts'
import { SAFETY_HEADERS } from '#shared/http/request-guards.ts'
import { newUuid } from '#shared/ids.ts'
import { toIso } from '#shared/time.ts'
import type { UpgradeProgress } from '#store/upgrade/upgrade.ts'

const RETRY_S = 5
/** Served during the start, when the app may not be built yet. */
const page = (
  english: string,
  german: string,
) => `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="${RETRY_S}"><title>cartbarn</title>
<h1>${english}</h1><p>This page reloads automatically. Carts keep their data meanwhile.</p>
<h1 lang="de">${german}</h1><p lang="de">Diese Seite sieht von selbst wieder nach. Die Carts
heben auf, was sie messen.</p>`
const UPGRADE_PAGE = page('The gateway is being upgraded.', 'Das Gateway wird aktualisiert.')
const RESTORE_PAGE = page('A backup is being restored.', 'Eine Sicherung wird zurückgespielt.')
/** Path of the progress of a restore, which the tablet that requested it reads. */
const RESTORE = /^\/setup\/restore\/([\w-]{1,64})$/

interface OpeningDeps {
  nowMs(): number
  clockState(): string
  restores: Pick<Restores, 'isActive' | 'state'>
}

/** Answers HTTP requests before the gateway is ready, while a backup is restored or its database upgraded. */
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
    const [, restoreId] = RESTORE.exec(pathname) ?? []
    if (restoreId !== undefined && this.#deps.restores.isActive) return this.#restore(restoreId, headers)
    if (request.method === 'GET' && request.headers.get('accept')?.includes('text/html') === true)
      return new Response(this.#deps.restores.isActive ? RESTORE_PAGE : UPGRADE_PAGE, {
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

  #restore(id: string, headers: Record<string, string>): Response {
    try {
      return Response.json(this.#deps.restores.state(id), { headers: { ...headers, 'retry-after': '1' } })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const { status, body } = problemOf(error, newUuid())
      return Response.json(body, { status, headers })
    }
  }

  #health() {
    const progress = this.#progress
    const status = progress !== null ? 'upgrading' : this.#deps.restores.isActive ? 'restoring' : 'starting'
    return {
      status,
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
